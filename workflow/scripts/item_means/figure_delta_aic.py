"""Surprisal and fit of each LM on each corpus, in four panels (de Varda & Marelli 2024, Figure 2)."""

from recency.evaluations.item_means.figure import main
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(**snakemake.input, out=snakemake.output, **snakemake.params)
