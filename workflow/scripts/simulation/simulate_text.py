"""Write the simulated study's text: stories of a small, English-like language."""

from recency.simulation.text import main
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(out_text=snakemake.output[0], **snakemake.params)
