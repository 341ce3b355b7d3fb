"""Rule ngram_text_perplexity: surprisal of every word of a corpus under an n-gram model."""

from recency.evaluations.text_perplexity.score import score_ngrams
from recency.workflow.engine.job import run

if __name__ == "__main__":
    run(score_ngrams, snakemake)
