"""Rule rare_words_by_vectors: a .vec file against people's ratings of pairs of words."""

from recency.evaluations.rare_words.score import of_vectors
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        of_vectors(
            **dict(snakemake.input.items()),
            out=snakemake.output[0],
            neighbours=snakemake.params.neighbours,
        )
