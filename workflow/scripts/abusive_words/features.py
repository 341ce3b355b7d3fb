"""Rule abusive_features: features of a lexicon's entries."""

from recency.evaluations.abusive_words.features import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
