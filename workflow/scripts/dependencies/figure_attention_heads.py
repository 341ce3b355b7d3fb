"""What each head gives to each kind of dependency (Clark et al. 2025, Figure 5), with its control."""

from recency.evaluations.dependencies.figure import main
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(**snakemake.input, out=snakemake.output, **snakemake.params)
