"""Rule pooled_effects: an LM's effect on each corpus, and their meta-analysis."""

from recency.evaluations.pooled.effects import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
