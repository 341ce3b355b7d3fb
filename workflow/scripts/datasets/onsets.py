"""Read the onset of each word for each subject, for kernels of delayed effects."""

from recency.reading.onsets import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
