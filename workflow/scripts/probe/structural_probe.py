"""Rule structural_probe: how much of a sentence's tree lies in each layer of an LM."""

from recency.evaluations.probe.score import main
from recency.workflow.job import code_of, logged
from recency.workflow.network import opened_from

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(
            treebank=snakemake.input.treebank,
            **opened_from(
                snakemake.input.model, snakemake.params.checkpoint, snakemake.params.allow_pickle
            ),
            out=snakemake.output[0],
            lm=snakemake.wildcards.lm,
            threads=snakemake.threads,
            code=code_of(snakemake.params),
            memory_gb=snakemake.resources.mem_mb / 1000,
            **{
                key: snakemake.params[key]
                for key in ("settings", "architecture", "bias", "bos", "stride", "seed")
            },
        )
