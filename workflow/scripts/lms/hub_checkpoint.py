"""Fetch a checkpoint of the Hub: the commit of the first download, for a branch."""

import os

from recency import lineage
from recency.networks.hub_download import main
from recency.workflow.engine.job import run

if __name__ == "__main__":
    folders = os.environ.get("RECENCY_MIRROR", "").split(os.pathsep)
    before = lineage.first(snakemake.output[0])
    commit = before.identity.get("revision", "").rpartition("@")[2] if before else ""
    run(main, snakemake, before=commit or None, mirrors=list(filter(None, folders)))
