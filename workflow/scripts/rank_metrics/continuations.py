"""Rule continuations: LMs' continuations, shuffled with the originals, for human judges."""

from recency.evaluations.rank_metrics.judges import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
