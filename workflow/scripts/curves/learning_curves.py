"""Rule learning_curves: ΔLogLik, perplexity, minimal pairs and attention at training steps."""

from recency.evaluations.curves.points import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
