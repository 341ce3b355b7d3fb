"""Train a tagger on a treebank, for datasets that name one (contract 1's `pos`)."""

from recency.reading.tagger import train
from recency.workflow.engine.job import run

if __name__ == "__main__":
    run(train, snakemake)
