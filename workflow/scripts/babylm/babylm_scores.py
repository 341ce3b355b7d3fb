"""Rule babylm_scores: log probabilities of all candidates of the zero-shot parts, and of words."""

from recency.evaluations.babylm.score import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
