"""Trials of a bias search: their gain in log-likelihood over the unbiased LM."""

from recency.evaluations.bias_search.figure import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
