"""Rule surprisal_table: surprisal of every word of a dataset from a user's table (contract 3)."""

from recency.scoring.surprisal_table import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
