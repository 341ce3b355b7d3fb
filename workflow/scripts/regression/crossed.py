"""Score models by the crossed bootstrap: subjects and sentences that their fits have not seen."""

from recency.workflow.fits import crossed
from recency.workflow.job import code_of, logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        crossed(
            files=dict(snakemake.input.items()),
            out=list(snakemake.output),
            code=code_of(snakemake.params),
            processes=snakemake.threads,
            **dict(snakemake.params.items()),
        )
