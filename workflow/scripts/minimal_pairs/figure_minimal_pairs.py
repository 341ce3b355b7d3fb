"""Accuracy on minimal pairs: a bar an LM, and LM by phenomenon (working-memory study, Figures 1, 2)."""

from recency.evaluations.minimal_pairs.figure import main
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(**snakemake.input, **snakemake.output, **snakemake.params)
