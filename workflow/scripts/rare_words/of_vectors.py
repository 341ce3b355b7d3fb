"""Rule rare_words_by_vectors: a .vec file compared with human ratings of word pairs."""

from recency.evaluations.rare_words.score import of_vectors
from recency.workflow.script import run

if __name__ == "__main__":
    run(of_vectors, snakemake)
