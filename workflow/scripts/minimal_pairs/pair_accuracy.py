"""How often each LM finds the acceptable sentence of a minimal pair likelier, and against the baseline."""

from recency.evaluations.minimal_pairs.accuracy import main
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(**snakemake.input, out=snakemake.output[0], **snakemake.params)
