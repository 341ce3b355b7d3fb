"""Copy one file from the user or a mirror, or download it, and verify its checksum."""

import os

from readingtimes.downloads.download import main
from recency import lineage
from recency.workflow.engine.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        # Where a copy may lie is no part of what is computed, so no parameter of the rule.
        folders = os.environ.get("RECENCY_MIRROR", "").split(os.pathsep)
        file = {"url": None, **snakemake.params.file}
        before = lineage.first(snakemake.output[0])
        first = None if before is None else before.sha256
        main(out=snakemake.output[0], mirrors=filter(None, folders), first=first, **file)
