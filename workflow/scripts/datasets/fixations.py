"""Read the fixations of a reading-time corpus (contract 4)."""

from recency.reading.fixations import main
from recency.workflow.engine.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        settings = dict(snakemake.params)
        files = dict(zip(settings.pop("roles"), snakemake.input.files, strict=True))
        tables = {name: snakemake.input[name] for name in ("words", "responses")}
        main(files=files, out=snakemake.output[0], **tables, **settings)
