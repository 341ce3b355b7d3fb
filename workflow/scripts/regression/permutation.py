"""Paired permutation tests between LMs on the held-out partition (Clark et al. 2025, Section 4)."""

from recency.evaluations.reading_times.permutation import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
