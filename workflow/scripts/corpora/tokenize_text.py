"""Turn a corpus's text into one stream of tokens, for training to read through a memory map."""

from recency.text.tokens import main
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(
            text=snakemake.input.text,
            tokenizer=snakemake.input.tokenizer,
            out_tokens=snakemake.output.tokens,
            out_info=snakemake.output.info,
            threads=snakemake.threads,
            **snakemake.params,
        )
