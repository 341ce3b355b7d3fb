"""Rule rare_words_by_lm: an LM's embedding table compared with human ratings of word pairs."""

from recency.evaluations.rare_words.score import score_network
from recency.workflow.engine.job import run

if __name__ == "__main__":
    run(score_network, snakemake)
