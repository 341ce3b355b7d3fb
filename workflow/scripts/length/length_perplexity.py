"""Rule length_perplexity: nats of the same masked tokens, read in segments of several lengths."""

from recency.evaluations.length.score import main
from recency.workflow.engine.job import run

if __name__ == "__main__":
    run(
        main,
        snakemake,
        lengths=[int(length) for length in snakemake.wildcards.lengths.split("-")],
        documents=None
        if snakemake.wildcards.documents == "all"
        else int(snakemake.wildcards.documents),
        share=float(snakemake.wildcards.share.replace("_", ".")),
    )
