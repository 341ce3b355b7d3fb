"""Score models by the crossed bootstrap: subjects and sentences that their fits have not seen."""

from recency.workflow.fits import crossed
from recency.workflow.script import run

if __name__ == "__main__":
    run(crossed, snakemake)
