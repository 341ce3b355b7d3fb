"""List the datasets that were left out, and why, so that the result says so."""

from recency.workflow.job import logged
from recency.workflow.not_run import main

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(datasets=snakemake.params.datasets, out=snakemake.output[0])
