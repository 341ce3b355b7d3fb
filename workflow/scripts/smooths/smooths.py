"""Compare an experiment's additive models with linear ones: ΔLogLik, and each smooth and line."""

from recency.evaluations.smooths.curves import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
