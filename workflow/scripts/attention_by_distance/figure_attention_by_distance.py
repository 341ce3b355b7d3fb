"""How far back each head looks: the attention within a distance, one panel an LM and layer."""

from recency.evaluations.attention_by_distance.figure import main
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(**snakemake.input, out=snakemake.output, **snakemake.params)
