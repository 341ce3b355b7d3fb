"""ΔAIC of each LM against the baseline, published beside reproduced (de Varda & Marelli 2024)."""

from recency.evaluations.item_means.table import main
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(**snakemake.input, out=snakemake.output, **snakemake.params)
