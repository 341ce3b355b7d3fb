"""ΔLogLik against perplexity, the variants of a bias connected (Clark et al. 2025, Figure 6)."""

from recency.evaluations.reading_times.figure_perplexity import main
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(**snakemake.input, out=snakemake.output, **snakemake.params)
