"""Compare effects estimated from simulated readers with the true effects of the simulation."""

from recency.evaluations.reading_times.recovery import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
