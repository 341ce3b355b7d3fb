"""Rule export: write a language model as a folder that transformers opens, including its bias."""

from recency.export.write import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
