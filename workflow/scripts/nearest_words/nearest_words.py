"""Rule nearest_words: the words nearest to some, by a network's embedding and by its memory of words."""

from recency.evaluations.nearest_words.score import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
