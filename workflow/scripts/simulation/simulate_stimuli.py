"""Write the stimuli of the simulated reading experiments: stories that no model was trained on."""

from recency.simulation.stimuli import main
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(out=snakemake.output[0], **snakemake.params)
