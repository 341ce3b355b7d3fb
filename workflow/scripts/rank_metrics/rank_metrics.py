"""Rules rank_metrics and ngram_rank_metrics: where an LM ranks the words that come, and how it would go on."""

from recency.evaluations.rank_metrics.score import main
from recency.workflow.job import logged
from recency.workflow.network import opened_from

WHOLE = ("sentences", "least", "kept", "longest", "seed")

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        params = dict(snakemake.params.items())
        opened = {"model": snakemake.input.model, "tokenizer": None}  # of n-grams
        if "checkpoint" in params:
            opened = opened_from(
                snakemake.input.model, params.pop("checkpoint"), params.pop("allow_pickle")
            )
        main(
            words=snakemake.input.words,
            **opened,
            out=snakemake.output.ranks,
            out_continuations=snakemake.output.continuations,
            lm=snakemake.wildcards.lm,
            threads=snakemake.threads,
            temperature=float(snakemake.wildcards.temperature),
            **{key: int(snakemake.wildcards[key]) for key in WHOLE},
            **params,
        )
