"""Rule estimate_ngrams: estimate an n-gram model of a corpus with KenLM (modified Kneser-Ney)."""

from recency.workflow.estimated import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
