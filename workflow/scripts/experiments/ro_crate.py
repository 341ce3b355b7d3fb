"""Package a finished run as an RO-Crate."""

from recency.export.ro_crate import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
