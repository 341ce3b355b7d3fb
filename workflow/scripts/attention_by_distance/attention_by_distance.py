"""Rule attention_by_distance: where each head of an LM looks, by distance, and how it spreads."""

from recency.evaluations.attention_by_distance.score import main
from recency.workflow.job import logged
from recency.workflow.network import opened_from

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(
            words=snakemake.input.words,
            **opened_from(
                snakemake.input.model, snakemake.params.checkpoint, snakemake.params.allow_pickle
            ),
            out=snakemake.output[0],
            summary=snakemake.output.summary,
            lm=snakemake.wildcards.lm,
            threads=snakemake.threads,
            **{key: snakemake.params[key] for key in ("bias", "bos", "stride")},
        )
