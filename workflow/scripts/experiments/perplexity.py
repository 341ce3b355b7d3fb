"""Perplexity of each LM on the reading-time corpora, from its surprisal (Clark et al. 2025, Figure 6)."""

from recency.evaluations.reading_times.perplexity import main
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(surprisal=snakemake.input.surprisal, out=snakemake.output[0], **snakemake.params)
