"""Look a reading-time corpus over, on one page, before anything is fitted to it."""

from recency.evaluations.dataset_check.page import main
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(**snakemake.input, out=snakemake.output, **snakemake.params)
