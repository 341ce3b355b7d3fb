"""Collect an experiment's cross-validated fits into one table of ΔLogLik."""

from recency.evaluations.cross_validation.delta_loglik import main
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(
            full=snakemake.input.full,
            base=snakemake.input.base,
            full_observations=snakemake.input.full_observations,
            base_observations=snakemake.input.base_observations,
            out=snakemake.output[0],
            **snakemake.params,
        )
