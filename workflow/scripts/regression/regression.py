"""Fit one regression of reading times or amplitudes, with an LM's surprisal or without: one JSON file."""

from recency.regression.fit import main
from recency.workflow.job import logged

if __name__ == "__main__":
    params = dict(snakemake.params.items())
    named = [each["lm"] for each in params.pop("others")]
    others = dict(zip(named, snakemake.input.get("others", ()), strict=True))
    if "beside" in params:
        others[params["beside"]] = snakemake.input.beside
    with logged(snakemake.log[0]):
        main(
            words=snakemake.input.words,
            fit=snakemake.input.fit,
            exploratory=snakemake.input.get("exploratory"),
            surprisal=snakemake.input.get("surprisal"),
            unigram=snakemake.input.get("unigram"),
            out=snakemake.output[0],
            out_observations=snakemake.output.get("observations"),
            others=others,
            **params,
        )
