"""Rule type_lengths: average surprisal of word types against their length and frequency."""

from recency.evaluations.word_length.types import main
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(
            words=snakemake.input.words,
            surprisals=snakemake.input.surprisals,
            frequency=snakemake.input.frequency[0],
            out=snakemake.output[0],
            **snakemake.params,
        )
