"""Rule minimal_pairs: pairs of an acceptable and an unacceptable sentence, from their files."""

from recency.evaluations.minimal_pairs.pairs import main
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(files=snakemake.input.files, out=snakemake.output[0], **snakemake.params)
