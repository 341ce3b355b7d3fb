"""ΔLogLik of LMs trained from several seeds: variance between seeds apart from that between items."""

from recency.evaluations.reading_times.seeds import main
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(
            full=snakemake.input.full,
            base=snakemake.input.base,
            out=snakemake.output[0],
            **snakemake.params,
        )
