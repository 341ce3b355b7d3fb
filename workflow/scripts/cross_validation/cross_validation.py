"""Fit one regression fold by fold, each fold scored by the fit to all the others."""

from recency.regression.folds import main
from recency.workflow.job import logged

if __name__ == "__main__":
    params = dict(snakemake.params.items())
    named = [each["lm"] for each in params.pop("others")]
    others = dict(zip(named, snakemake.input.get("others", ()), strict=True))
    with logged(snakemake.log[0]):
        main(
            words=snakemake.input.words,
            fit=snakemake.input.fit,
            exploratory=snakemake.input.get("exploratory"),
            surprisal=snakemake.input.get("surprisal"),
            unigram=snakemake.input.get("unigram"),
            out=snakemake.output[0],
            out_observations=snakemake.output.observations,
            others=others,
            **params,
        )
