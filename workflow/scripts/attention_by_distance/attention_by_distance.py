"""Rule attention_by_distance: where each head of an LM looks, by distance, and how it spreads."""

from recency.evaluations.attention_by_distance.score import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
