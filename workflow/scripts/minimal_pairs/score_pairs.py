"""Rule score_pairs: surprisal of each sentence of minimal pairs under one language model."""

from recency.evaluations.minimal_pairs.score import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
