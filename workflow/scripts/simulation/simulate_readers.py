"""Write reading times of simulated readers, whose expectations are an LM's surprisal."""

from recency.simulation.responses import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
