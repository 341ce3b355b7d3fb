"""Accuracy of each LM on minimal pairs, with intervals and tests against the baseline."""

from recency.evaluations.minimal_pairs.accuracy import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
