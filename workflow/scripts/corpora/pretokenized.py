"""Check a corpus that comes as tokens, such as the pre-shuffled Pile (Biderman et al. 2023)."""

from recency.text.pretokenized import main
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(
            tokens=snakemake.input.tokens,
            tokenizer=snakemake.input.tokenizer,
            out_info=snakemake.output[0],
            **snakemake.params,
        )
