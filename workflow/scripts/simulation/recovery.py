"""Set the effects that regressions found in simulated readers beside those that were put in."""

from recency.evaluations.reading_times.recovery import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
