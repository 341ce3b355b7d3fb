"""Check a tokenized corpus, such as the pre-shuffled Pile (Biderman et al. 2023)."""

from recency.text.pretokenized import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
