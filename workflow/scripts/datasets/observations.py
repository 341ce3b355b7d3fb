"""Filter responses as in the paper, count the removals, and partition them if requested."""

from recency.reading.observations import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
