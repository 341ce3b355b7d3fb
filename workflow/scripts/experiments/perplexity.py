"""Perplexity of each LM on the reading-time corpora, from its surprisal (Clark et al. 2025, Figure 6)."""

from recency.evaluations.reading_times.perplexity import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
