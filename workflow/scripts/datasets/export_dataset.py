"""Rule export_dataset: a dataset's words with all LMs' surprisals, its responses, and R code."""

from recency.export.dataset import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
