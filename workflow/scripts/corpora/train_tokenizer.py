"""Train a tokenizer on a corpus's text: byte-level BPE, or words."""

from recency.text.tokenizer import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
