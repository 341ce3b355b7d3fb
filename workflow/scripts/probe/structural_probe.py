"""Rule structural_probe: dependency trees decoded from each layer of an LM."""

from recency.evaluations.probe.score import main
from recency.workflow.engine.job import run

if __name__ == "__main__":
    run(
        main,
        snakemake,
        memory_gb=snakemake.resources.mem_mb / 1000,
    )
