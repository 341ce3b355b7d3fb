"""Compare LMs by the AIC of least squares on words, and their surprisal by what it goes with."""

from recency.evaluations.item_means.delta_aic import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
