"""One regression refitted to subjects drawn anew: its log-likelihood on their exploratory observations."""

from recency.evaluations.ranks.refits import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
