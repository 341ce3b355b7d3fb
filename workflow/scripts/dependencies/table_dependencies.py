"""How many dependencies there are by each reading of the trees, beside the paper's counts."""

from recency.evaluations.dependencies.table import main
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(**snakemake.input, out=snakemake.output, **snakemake.params)
