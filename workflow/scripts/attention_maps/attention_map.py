"""Rule attention_map: the attention of every head of every layer over one sentence."""

from recency.evaluations.attention_maps.score import main
from recency.workflow.job import logged
from recency.workflow.network import opened_from

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(
            text=snakemake.params.text,
            **opened_from(
                snakemake.input.model, snakemake.params.checkpoint, snakemake.params.allow_pickle
            ),
            out=snakemake.output[0],
            lm=snakemake.wildcards.lm,
            bias=snakemake.params.bias,
            bos=snakemake.params.bos,
        )
