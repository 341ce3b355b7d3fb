"""Rule checkpoint: an LM from the weights stored at one training step."""

from recency.networks.stored_steps import copy_checkpoint
from recency.workflow.engine.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        copy_checkpoint(
            losses=snakemake.input.losses,
            out=snakemake.output.config,
            lm=snakemake.wildcards.lm,
            of=snakemake.params.of,
            step=snakemake.params.step,
        )
