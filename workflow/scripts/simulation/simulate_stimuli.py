"""Write the stimuli of the simulated reading experiments: stories outside the training data."""

from recency.simulation.stimuli import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
