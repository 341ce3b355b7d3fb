"""Rule attention_by_distance: the attention of each head by distance, and its entropy."""

from recency.evaluations.attention_by_distance.score import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
