"""Rule estimate_ngrams: an n-gram model of a corpus, modified Kneser-Ney, by KenLM's lmplz."""

from recency.scoring.estimate_ngrams import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
