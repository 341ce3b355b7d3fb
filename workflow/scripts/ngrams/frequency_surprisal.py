"""Rule frequency_surprisal: unigram surprisal of every word from a list of counts (contract 3)."""

from recency.scoring.frequency import main
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(
            words=snakemake.input.words,
            counts=snakemake.input.counts,
            out=snakemake.output[0],
            ledger=snakemake.output.get("ledger"),
            tokenizer=snakemake.input.get("tokenizer"),
            **snakemake.params,
        )
