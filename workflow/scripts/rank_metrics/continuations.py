"""Rule continuations: how LMs go on, shuffled among the originals, for people to judge."""

from recency.evaluations.rank_metrics.judges import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
