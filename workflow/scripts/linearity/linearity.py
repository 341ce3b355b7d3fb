"""Compare an experiment's linking functions with the linear effect, on held-out observations."""

from recency.evaluations.linearity.differences import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
