"""Collect an experiment's cross-validated fits into one table of ΔLogLik."""

from recency.evaluations.cross_validation.delta_loglik import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
