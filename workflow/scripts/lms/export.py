"""Rule export: one language model as a folder that transformers opens by itself, bias and all."""

from recency.export.write import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
