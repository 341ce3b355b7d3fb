"""Rule push: an exported language model goes to the Hugging Face Hub, where a token is set."""

from recency.export.push import main
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(
            snakemake.input[0],
            snakemake.output[0],
            repository=snakemake.params.repository,
            private=snakemake.params.private,
        )
