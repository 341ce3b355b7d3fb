"""What a run found, for the terminal and the report: ranking, observations, what was not run."""

from recency.evaluations.summary import main
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(**snakemake.input, **snakemake.output, **snakemake.params)
