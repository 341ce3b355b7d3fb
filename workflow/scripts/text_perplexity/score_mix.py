"""Rule mix_text_perplexity: surprisal of every word of a corpus under a mixture of LMs."""

from recency.evaluations.text_perplexity.score import score_mix
from recency.workflow.engine.job import run

if __name__ == "__main__":
    run(score_mix, snakemake)
