"""Rule wordfreq_surprisal: unigram surprisal of every word from the package wordfreq (contract 3)."""

from recency.scoring.wordfreq_surprisal import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
