"""Convert a corpus's original files to text, one row per document."""

from recency.text.prepare import main
from recency.workflow.engine.job import run

if __name__ == "__main__":
    run(
        main,
        snakemake,
        sources=next(iter(snakemake.input.get("sources", [])), None),
    )
