"""Rule rank_metrics: where an LM ranks the words that come, and how it would go on."""

from recency.evaluations.rank_metrics.score import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
