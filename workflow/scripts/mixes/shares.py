"""Rule mix_shares: shares of interpolated LMs, by EM on held-out text."""

from recency.scoring.mix import shares
from recency.workflow.engine.job import run

if __name__ == "__main__":
    run(shares, snakemake)
