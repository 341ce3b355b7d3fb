"""Read the words of a reading-time corpus (contract 1)."""

from recency.reading.words import main
from recency.workflow.engine.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        settings = dict(snakemake.params)
        files = dict(zip(settings.pop("roles"), snakemake.input.files, strict=True))
        tables = zip(settings.pop("tables"), snakemake.input.predictors, strict=True)
        main(
            files=files,
            tagger=snakemake.input.tagger,
            predictors=[table | {"path": path} for table, path in tables],
            out=snakemake.output[0],
            **settings,
        )
