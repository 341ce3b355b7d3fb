"""How much of a sentence's tree each layer holds: all edges, and one small panel a relation."""

from recency.evaluations.probe.figure import main
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(**snakemake.input, out=snakemake.output, **snakemake.params)
