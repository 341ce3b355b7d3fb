"""Collect the response functions of an experiment's delayed effects."""

from recency.evaluations.delays.delay_curves import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
