"""Rule attention_map: the attention of every head of every layer over one sentence."""

from pathlib import Path

from recency.evaluations.attention_maps.score import main
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        folder = Path(snakemake.input.model[0]).parent if snakemake.input.model else None
        main(
            text=snakemake.params.text,
            model=folder or snakemake.params.checkpoint,
            tokenizer=folder and folder / "tokenizer.json",
            out=snakemake.output[0],
            lm=snakemake.wildcards.lm,
            bias=snakemake.params.bias,
            bos=snakemake.params.bos,
        )
