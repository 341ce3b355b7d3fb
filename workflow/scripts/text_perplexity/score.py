"""Rule text_perplexity: surprisal of every token of a corpus under one network."""

from recency.evaluations.text_perplexity.score import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
