"""Train a tagger on a treebank, for datasets that name one (contract 1's `pos`)."""

from recency.reading.tagger import train
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        train(snakemake.input.treebank, snakemake.output.tagger, snakemake.output.quality)
