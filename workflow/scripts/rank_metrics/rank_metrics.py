"""Rule rank_metrics: an LM's ranks of the observed words, and its continuations."""

from recency.evaluations.rank_metrics.score import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
