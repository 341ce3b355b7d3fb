"""Train a byte-level BPE tokenizer on a corpus's text (Radford et al. 2019, section 2.2)."""

from recency.text.tokenizer import main
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(
            text=snakemake.input.text,
            out=snakemake.output[0],
            threads=snakemake.threads,
            **snakemake.params,
        )
