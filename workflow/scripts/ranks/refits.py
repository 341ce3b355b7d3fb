"""Refit a regression to resampled subjects: log-likelihood of their exploratory observations."""

from recency.evaluations.ranks.refits import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
