"""Rule push: upload an exported language model to the Hugging Face Hub, given a token."""

from recency.export.push import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
