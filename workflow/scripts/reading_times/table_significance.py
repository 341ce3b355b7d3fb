"""Permutation tests of squared errors on the held-out partition, with Holm's correction."""

from recency.evaluations.reading_times.table_significance import main
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(**snakemake.input, out=snakemake.output, **snakemake.params)
