"""Rule structural_probe: how much of a sentence's tree lies in each layer of an LM."""

from pathlib import Path

from recency.evaluations.probe.score import main
from recency.workflow.job import code_of, logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        folder = Path(snakemake.input.model[0]).parent if snakemake.input.model else None
        main(
            treebank=snakemake.input.treebank,
            model=folder or snakemake.params.checkpoint,
            tokenizer=folder and folder / "tokenizer.json",
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
