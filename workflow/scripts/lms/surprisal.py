"""Rule surprisal: surprisal of every word of a dataset under one language model (contract 3)."""

from pathlib import Path

from recency.scoring.surprisal import main
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        folder = Path(snakemake.input.model[0]).parent if snakemake.input.model else None
        main(
            words=snakemake.input.words,
            model=folder or snakemake.params.checkpoint,
            tokenizer=folder and folder / "tokenizer.json",
            out=snakemake.output[0],
            ledger=snakemake.output.get("ledger"),
            lm=snakemake.wildcards.lm,
            dataset=snakemake.wildcards.dataset,
            bias=snakemake.params.bias,
            bos=snakemake.params.bos,
            stride=snakemake.params.stride,
            threads=snakemake.threads,
            **snakemake.params.get("scoring", {}),
        )
