"""Write a quality report of a reading-time corpus, before anything is fitted to it."""

from recency.evaluations.dataset_check.page import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
