"""Rule measured_memory: what replacing one word does to the surprisal of each word behind it."""

from recency.evaluations.measured_memory.score import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
