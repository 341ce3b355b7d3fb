"""Rule measured_memory: the effect of replacing a word on the surprisal of each later word."""

from recency.evaluations.measured_memory.score import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
