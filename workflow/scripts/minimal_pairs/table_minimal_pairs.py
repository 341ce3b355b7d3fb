"""Accuracy on minimal pairs by LM and phenomenon, with tests against the baseline, published beside."""

from recency.evaluations.minimal_pairs.table import main
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(**snakemake.input, out=snakemake.output, **snakemake.params)
