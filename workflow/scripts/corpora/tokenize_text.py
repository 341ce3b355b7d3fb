"""Turn a corpus's text into one stream of tokens, for training to read through a memory map."""

from recency.text.tokens import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
