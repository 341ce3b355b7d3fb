"""Rule nearest_words: nearest neighbours of words by embedding and by memory."""

from recency.evaluations.nearest_words.score import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
