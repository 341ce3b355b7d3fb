"""ΔLogLik against the slope that all heads share, mixed slopes dashed (Clark et al. 2025, Figure 4)."""

from recency.evaluations.reading_times.figure_slopes import main
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(**snakemake.input, out=snakemake.output, **snakemake.params)
