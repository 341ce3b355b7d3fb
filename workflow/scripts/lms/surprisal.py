"""Rule surprisal: surprisal of every word of some datasets under one language model (contract 3)."""

from recency.workflow.scored import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
