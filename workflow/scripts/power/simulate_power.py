"""Rule simulate_power: the chance of finding a ΔLogLik with n subjects and m sentences."""

from recency.evaluations.power.simulate import main
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(
            words=snakemake.input.words,
            surprisal=snakemake.input.surprisal,
            unigram=snakemake.input.unigram,
            out=snakemake.output[0],
            readers=snakemake.params.readers,
            design=snakemake.params.design,
            seed=snakemake.params.seed,
            **snakemake.params.sizes,
        )
