"""Set the effects that regressions found in simulated readers beside those that were put in."""

from recency.evaluations.reading_times.recovery import main
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(**snakemake.input, out=snakemake.output, **snakemake.params)
