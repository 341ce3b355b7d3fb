"""Rule babylm_words: surprisal of the challenge's child-directed words in their contexts."""

from recency.evaluations.babylm.words import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
