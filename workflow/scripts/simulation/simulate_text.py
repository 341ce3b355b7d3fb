"""Write the training text of the simulated study: stories in a small, English-like language."""

from recency.simulation.text import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
