"""Rule estimate_ngrams: an n-gram model of a corpus, modified Kneser-Ney, by KenLM's lmplz."""

from recency.scoring.estimate_ngrams import main
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(text=snakemake.input.text, out=snakemake.output[0], **snakemake.params)
