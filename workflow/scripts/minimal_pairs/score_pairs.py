"""Rule score_pairs: surprisal of each sentence of minimal pairs under one language model."""

from recency.evaluations.minimal_pairs.score import main
from recency.workflow.job import logged
from recency.workflow.network import opened_from

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(
            pairs=snakemake.input.pairs,
            **opened_from(
                snakemake.input.model, snakemake.params.checkpoint, snakemake.params.allow_pickle
            ),
            out=snakemake.output[0],
            lm=snakemake.wildcards.lm,
            bias=snakemake.params.bias,
            bos=snakemake.params.bos,
            stride=snakemake.params.stride,
            scoring=snakemake.params.scoring,
            threads=snakemake.threads,
        )
