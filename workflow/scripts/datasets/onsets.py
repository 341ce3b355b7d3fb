"""When each word came up for each subject, which kernels of delayed effects need."""

from recency.reading.onsets import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
