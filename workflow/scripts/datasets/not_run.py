"""List the datasets that were not run, with the reasons."""

from recency.workflow.not_run import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
