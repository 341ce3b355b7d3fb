"""Rule surprisal: surprisal of every word of a dataset under one language model (contract 3)."""

from recency.scoring.surprisal import main
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
            ledger=snakemake.output.get("ledger"),
            lm=snakemake.wildcards.lm,
            dataset=snakemake.wildcards.dataset,
            bias=snakemake.params.bias,
            bos=snakemake.params.bos,
            stride=snakemake.params.stride,
            threads=snakemake.threads,
            measures=snakemake.params.measures,
            context=snakemake.params.context,
            **snakemake.params.get("scoring", {}),
        )
