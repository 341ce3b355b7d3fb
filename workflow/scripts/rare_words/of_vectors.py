"""Rule rare_words_by_vectors: a .vec file compared with human ratings of word pairs."""

from recency.evaluations.rare_words.score import score_vectors
from recency.workflow.engine.job import run

if __name__ == "__main__":
    run(score_vectors, snakemake)
