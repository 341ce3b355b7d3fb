"""List the datasets that were left out, and why, so that the result says so."""

from recency.workflow.not_run import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
