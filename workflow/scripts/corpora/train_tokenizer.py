"""Train a tokenizer on a corpus's text: byte-level BPE, or its words."""

from recency.text.tokenizer import main
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(
            text=snakemake.input.text,
            also=snakemake.input.get("also", []),
            out=snakemake.output[0],
            threads=snakemake.threads,
            **snakemake.params.settings,
        )
