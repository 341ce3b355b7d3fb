"""Compare the effects estimated for simulated readers with their true effects."""

from recency.evaluations.reading_times.recovery import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
