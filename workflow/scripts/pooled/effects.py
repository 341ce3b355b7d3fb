"""Rule pooled_effects: an LM's lead in each corpus, and a meta-analysis."""

from recency.evaluations.pooled.effects import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
