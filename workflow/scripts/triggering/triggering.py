"""Rule triggering: probability of a word after another one relative to chance, by distance."""

from recency.evaluations.triggering.count import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
