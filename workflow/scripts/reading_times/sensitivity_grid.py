"""ΔLogLik under every combination of some settings: how far a result hangs on each of them."""

from recency.evaluations.reading_times.sensitivity import main
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(**snakemake.input, **snakemake.output, **snakemake.params)
