"""One regression refitted to subjects drawn anew: its log-likelihood on their exploratory observations."""

from recency.evaluations.ranks.refits import main
from recency.workflow.job import logged

if __name__ == "__main__":
    params = dict(snakemake.params.items())
    named = [each["lm"] for each in params.pop("others")]
    others = dict(zip(named, snakemake.input.get("others", ()), strict=True))
    with logged(snakemake.log[0]):
        main(
            words=snakemake.input.words,
            fit=snakemake.input.fit,
            exploratory=snakemake.input.exploratory,
            surprisal=snakemake.input.get("surprisal"),
            unigram=snakemake.input.get("unigram"),
            out=snakemake.output[0],
            others=others,
            **params,
        )
