"""Fit regressions of some responses, with an LM's surprisal or without: a JSON file each."""

from recency.workflow.fits import main
from recency.workflow.job import code_of, logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(
            files=dict(snakemake.input.items()),
            out=snakemake.output.fits,
            observations=snakemake.output.observations,
            code=code_of(snakemake.params),
            processes=snakemake.threads,
            **dict(snakemake.params.items()),
        )
