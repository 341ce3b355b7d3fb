"""Rule score_pairs: surprisal of each sentence of minimal pairs under one language model."""

from pathlib import Path

from recency.evaluations.minimal_pairs.score import main
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        folder = Path(snakemake.input.model[0]).parent if snakemake.input.model else None
        main(
            pairs=snakemake.input.pairs,
            model=folder or snakemake.params.checkpoint,
            tokenizer=folder and folder / "tokenizer.json",
            out=snakemake.output[0],
            lm=snakemake.wildcards.lm,
            bias=snakemake.params.bias,
            bos=snakemake.params.bos,
            stride=snakemake.params.stride,
            scoring=snakemake.params.scoring,
            threads=snakemake.threads,
        )
