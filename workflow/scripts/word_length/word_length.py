"""Rule type_lengths: average surprisal of word types, with their length and frequency."""

from recency.evaluations.word_length.types import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
