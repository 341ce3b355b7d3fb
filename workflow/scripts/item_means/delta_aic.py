"""Compare LMs by the AIC of full-data fits, and correlate their surprisal."""

from recency.evaluations.item_means.delta_aic import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
