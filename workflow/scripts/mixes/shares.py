"""Rule mix_shares: the shares of LMs that are interpolated, by EM on held-out text."""

from recency.scoring.mix import shares
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        shares(
            **{"scores": [], **dict(snakemake.input.items())},
            out=snakemake.output[0],
            **snakemake.params,
        )
