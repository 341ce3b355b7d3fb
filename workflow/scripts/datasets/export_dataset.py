"""Rule export_dataset: a dataset's words with all LMs' surprisals, its responses, and R code."""

from recency.export.dataset import main
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(
            words=snakemake.input.words,
            responses=snakemake.input.responses,
            unigram=snakemake.input.get("unigram"),
            surprisal=snakemake.input.get("surprisal", []),
            scored=snakemake.input.get("scored", []),
            record=snakemake.input.get("record") or None,
            out=snakemake.output[0],
            **snakemake.params,
        )
