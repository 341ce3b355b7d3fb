"""Rule mix_surprisal: surprisal of every word of a dataset under a mixture of LMs (contract 3)."""

from recency.scoring.mix import surprisal
from recency.workflow.engine.job import run

if __name__ == "__main__":
    run(surprisal, snakemake)
