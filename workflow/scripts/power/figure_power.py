"""Rule figure_power: the chance of finding a ΔLogLik by subjects, sentences and size of the effect."""

from recency.evaluations.power.figure import main
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(chances=snakemake.input.chances, out=snakemake.output)
