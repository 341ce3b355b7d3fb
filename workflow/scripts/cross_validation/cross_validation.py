"""Fit one regression fold by fold, and score each fold by the fit to the others."""

from recency.regression.folds import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
