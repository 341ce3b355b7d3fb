"""Fit one regression fold by fold, each fold scored by the fit to all the others."""

from recency.regression.folds import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
