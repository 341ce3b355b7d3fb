"""ΔLogLik of LMs trained from several seeds, and how much of its uncertainty is the seeds'."""

from recency.evaluations.reading_times.table_seeds import main
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(**snakemake.input, out=snakemake.output, **snakemake.params)
