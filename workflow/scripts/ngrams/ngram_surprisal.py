"""Rule ngram_surprisal: surprisal of every word of a dataset under an n-gram model (contract 3)."""

from recency.scoring.ngram_surprisal import main
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(
            words=snakemake.input.words,
            arpa=snakemake.input.arpa,
            out=snakemake.output[0],
            ledger=snakemake.output.get("ledger"),
            **snakemake.params,
        )
