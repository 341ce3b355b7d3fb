"""Rule figure_power: the smallest detectable lead by subjects, sentences and training seeds."""

from recency.evaluations.power.figure import main
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(sizes=snakemake.input.sizes, out=snakemake.output)
