"""Rule mix_surprisal: surprisal of every word of a dataset under LMs interpolated (contract 3)."""

from recency.scoring.mix import surprisal
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        surprisal(
            **dict(snakemake.input.items()),
            out=snakemake.output[0],
            ledger=snakemake.output.ledger,
            **snakemake.params,
        )
