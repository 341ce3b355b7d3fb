"""Set an experiment's additive models beside linear ones: ΔLogLik, and each smooth with its line."""

from recency.evaluations.smooths.curves import main
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(
            full=snakemake.input.full,
            linear=snakemake.input.linear,
            base=snakemake.input.base,
            full_observations=snakemake.input.full_observations,
            linear_observations=snakemake.input.linear_observations,
            out=snakemake.output[0],
            out_curves=snakemake.output.curves,
            **snakemake.params,
        )
