"""Rule export_replica: an LM's surprisals as files of REPLICA's predictor store."""

from recency.export.replica import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
