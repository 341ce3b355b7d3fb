"""Rule ngram_rank_metrics: where an n-gram model ranks the words that come, and how it would go on."""

from recency.evaluations.rank_metrics.score import main
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(
            words=snakemake.input.words,
            model=snakemake.input.model,
            tokenizer=None,
            out=snakemake.output.ranks,
            out_continuations=snakemake.output.continuations,
            lm=snakemake.wildcards.lm,
            threads=snakemake.threads,
            temperature=float(snakemake.wildcards.temperature),
            **{
                key: int(snakemake.wildcards[key])
                for key in ("sentences", "least", "kept", "longest", "seed")
            },
            **{key: snakemake.params[key] for key in ("bos", "text_rule")},
        )
