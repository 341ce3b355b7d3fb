"""Score models by the crossed bootstrap, on subjects and sentences outside their fits."""

from recency.regression.fits import crossed
from recency.workflow.engine.job import run

if __name__ == "__main__":
    run(crossed, snakemake)
