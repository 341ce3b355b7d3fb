"""Rule ngram_surprisal: surprisal of every word of a dataset under an n-gram model (contract 3)."""

from recency.scoring.ngram_surprisal import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
