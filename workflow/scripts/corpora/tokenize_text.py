"""Tokenize a corpus into one stream of tokens, which training reads through a memory map."""

from recency.text.tokens import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
