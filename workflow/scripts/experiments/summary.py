"""What a run found, for the terminal and the report: ranking, observations, what was not run."""

from recency.evaluations.summary import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
