"""Write the stimuli of the simulated reading experiments: stories that no model was trained on."""

from recency.simulation.stimuli import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
