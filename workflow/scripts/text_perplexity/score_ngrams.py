"""Rule ngram_text_perplexity: surprisal of every word of a corpus under an n-gram model."""

from recency.evaluations.text_perplexity.score import of_ngrams
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        of_ngrams(snakemake.input.text, snakemake.input.arpa, snakemake.output[0])
