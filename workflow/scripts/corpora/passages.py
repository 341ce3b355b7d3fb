"""Rule passages: hash the passages of a text, to compare evaluated texts with it."""

from recency.passages import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
