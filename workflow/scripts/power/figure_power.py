"""Rule figure_power: the smallest detectable lead by subjects, sentences and training seeds."""

from recency.evaluations.power.figure import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
