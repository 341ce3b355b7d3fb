"""Rule condition_means: mean response and mean surprisal by condition."""

from recency.evaluations.conditions.means import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
