"""ΔLogLik of an experiment's LMs: totals (Clark et al. 2025, Figures 2 to 4) and one panel a response."""

from recency.evaluations.reading_times.figure_delta_loglik import main
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(**snakemake.input, **snakemake.output, **snakemake.params)
