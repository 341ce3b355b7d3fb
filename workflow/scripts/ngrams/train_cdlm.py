"""Rule train_cdlm: train a combination of an n-gram model with longer-distance word effects."""

from recency.scoring.train_cdlm import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
