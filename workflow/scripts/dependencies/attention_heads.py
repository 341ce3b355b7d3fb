"""Rule attention_heads: attention from head words to their dependents (Clark et al. 2025, 7.1)."""

from recency.evaluations.dependencies.score import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
