"""Rule table_endpoint: size and power of candidate endpoints of ΔLogLik."""

from recency.evaluations.endpoint.table import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
