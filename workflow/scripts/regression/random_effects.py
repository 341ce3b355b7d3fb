"""Search for the structure of the random effects, as Clark et al. (2025, Section 4.4) did."""

from recency.regression.random_effects import main
from recency.workflow.job import logged

if __name__ == "__main__":
    params = dict(snakemake.params.items())
    named = [each["lm"] for each in params.pop("others")]
    others = dict(zip(named, snakemake.input.get("others", ()), strict=True))
    with logged(snakemake.log[0]):
        main(
            words=snakemake.input.words,
            fit=snakemake.input.fit,
            unigram=snakemake.input.unigram,
            surprisal=snakemake.input.surprisal,
            out=snakemake.output,
            others=others,
            **params,
        )
