"""Rule minimal_pairs: pairs of an acceptable and an unacceptable sentence, from their files."""

from recency.evaluations.minimal_pairs.pairs import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
