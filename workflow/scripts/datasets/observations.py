"""Filter responses as the paper does, count what each step drops, and part them in three or not."""

from recency.reading.observations import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
