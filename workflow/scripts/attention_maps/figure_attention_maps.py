"""Attention over one sentence, a panel for each head: heads × first layers, LMs side by side."""

from recency.evaluations.attention_maps.figure import main
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(**snakemake.input, out=snakemake.output, **snakemake.params)
