"""Rule attention_map: the attention of every head of every layer over one sentence."""

from recency.evaluations.attention_maps.score import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
