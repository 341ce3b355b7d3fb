"""Refit one regression to resampled subjects, and score their exploratory observations."""

from recency.evaluations.ranks.refits import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
