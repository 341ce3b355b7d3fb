"""How often each LM finds the acceptable sentence of a minimal pair likelier, and against the baseline."""

from recency.evaluations.minimal_pairs.accuracy import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
