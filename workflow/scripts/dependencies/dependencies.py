"""Rule dependencies: what depends on what in the words of a dataset, from its annotated trees."""

from recency.evaluations.dependencies.extract import main
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(
            **{key: snakemake.input[key] for key in ("trees", "leaves", "words")},
            out=snakemake.output[0],
            counts=snakemake.output.counts,
            options=snakemake.params.options,
        )
