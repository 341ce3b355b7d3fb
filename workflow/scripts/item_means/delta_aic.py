"""Compare LMs by the AIC of least squares on words, and their surprisal by what it goes with."""

from recency.evaluations.item_means.delta_aic import main
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(
            fits=snakemake.input.fits,
            words=snakemake.input.words,
            observations=snakemake.input.observations,
            surprisal=snakemake.input.surprisal,
            unigram=snakemake.input.get("unigram", ()),
            others=snakemake.input.get("others", ()),
            out=snakemake.output[0],
            **snakemake.params,
        )
