"""Rule abusive_vectors: an LM's embeddings of a lexicon's words."""

from recency.evaluations.abusive_words.vectors import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
