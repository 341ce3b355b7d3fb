"""Rule attention_by_distance: where each head of an LM looks, by distance, and how it spreads."""

from pathlib import Path

from recency.evaluations.attention_by_distance.score import main
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        folder = Path(snakemake.input.model[0]).parent if snakemake.input.model else None
        main(
            words=snakemake.input.words,
            model=folder or snakemake.params.checkpoint,
            tokenizer=folder and folder / "tokenizer.json",
            out=snakemake.output[0],
            summary=snakemake.output.summary,
            lm=snakemake.wildcards.lm,
            threads=snakemake.threads,
            **{key: snakemake.params[key] for key in ("bias", "bos", "stride")},
        )
