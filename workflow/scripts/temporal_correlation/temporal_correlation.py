"""Rule temporal_correlation: similarity of a network's states by distance in words."""

from recency.evaluations.temporal_correlation.score import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
