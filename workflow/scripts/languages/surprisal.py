"""Rules surprisal_by_language, unigram_by_language: a dataset's surprisal by the LM of its language."""

from recency.scoring.results import copy_scores
from recency.workflow.engine.job import run

if __name__ == "__main__":
    run(copy_scores, snakemake)
