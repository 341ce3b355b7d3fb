"""Rule frequency_surprisal: unigram surprisal of every word from a list of counts (contract 3)."""

from recency.scoring.frequency import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
