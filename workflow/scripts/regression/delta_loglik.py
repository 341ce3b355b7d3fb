"""Collect an experiment's fits into one table of ΔLogLik: full minus base, one row per response."""

from recency.evaluations.reading_times.delta_loglik import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
