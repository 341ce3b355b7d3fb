"""Look a reading-time corpus over, on one page, before anything is fitted to it."""

from recency.evaluations.dataset_check.page import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
