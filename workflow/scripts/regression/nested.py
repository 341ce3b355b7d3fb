"""Additional effect of an LM in a regression with another LM, from fits and held-out rows."""

from recency.evaluations.reading_times.nested import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
