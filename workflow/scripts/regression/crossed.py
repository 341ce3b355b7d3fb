"""Score models by the crossed bootstrap, on subjects and sentences outside their fits."""

from recency.workflow.fits import crossed
from recency.workflow.job import run

if __name__ == "__main__":
    run(crossed, snakemake)
