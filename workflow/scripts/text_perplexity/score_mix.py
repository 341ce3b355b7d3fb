"""Rule mix_text_perplexity: surprisal of every word of a corpus under LMs interpolated."""

from recency.evaluations.text_perplexity.score import of_mix
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        of_mix(**dict(snakemake.input.items()), out=snakemake.output[0], **snakemake.params)
