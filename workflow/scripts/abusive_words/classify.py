"""Rule classify_abusive_words: cross-validated classification, and the expanded lexicon."""

from recency.evaluations.abusive_words.classify import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
