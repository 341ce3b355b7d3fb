"""Read a corpus's original files into text, one row per document."""

from recency.text.prepare import main
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(
            files=snakemake.input.files,
            sources=next(iter(snakemake.input.get("sources", [])), None),
            out=snakemake.output[0],
            **snakemake.params,
        )
