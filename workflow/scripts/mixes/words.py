"""Rule corpus_words: a corpus's words in the format of a dataset."""

from recency.scoring.mix import write_words
from recency.workflow.engine.job import run

if __name__ == "__main__":
    run(write_words, snakemake)
