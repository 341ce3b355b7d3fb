"""Rule push: an exported language model goes to the Hugging Face Hub, where a token is set."""

from recency.export.push import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
