"""The structural probe at each LM's best layer, chosen on dev, beside its embeddings and controls."""

from recency.evaluations.probe.table import main
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(**snakemake.input, out=snakemake.output, **snakemake.params)
