"""Summary of a run for the terminal and the report: ranking, observations, missing results."""

from recency.evaluations.summary import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
