"""Search for the random-effects structure, as in Clark et al. (2025, Section 4.4)."""

from recency.regression.random_effects import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
