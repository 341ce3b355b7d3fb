"""Rule temporal_correlation: how alike a network's states are, so many words apart."""

from recency.evaluations.temporal_correlation.score import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
