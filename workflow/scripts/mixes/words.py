"""Rule corpus_words: a corpus's words, as those of a dataset."""

from recency.scoring.mix import words_of
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        words_of(snakemake.input.text, snakemake.output[0])
