"""Rule train_cdlm: an n-gram model times what words further back make of a word."""

from recency.scoring.train_cdlm import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
