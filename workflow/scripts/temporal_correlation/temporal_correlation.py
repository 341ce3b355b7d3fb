"""Rule temporal_correlation: how alike a network's states are, so many words apart."""

from recency.evaluations.temporal_correlation.score import main
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
            lm=snakemake.wildcards.lm,
            threads=snakemake.threads,
            **{key: int(snakemake.wildcards[key]) for key in ("reach", "seed")},
            **{key: snakemake.params[key] for key in ("bias", "bos", "stride")},
        )
