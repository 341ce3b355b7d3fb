"""Rule corpus_words: a corpus's words in the format of a dataset."""

from recency.scoring.mix import words_of
from recency.workflow.script import run

if __name__ == "__main__":
    run(words_of, snakemake)
