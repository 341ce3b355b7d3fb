"""Rule figure_endpoint: size and power of candidate endpoints of ΔLogLik."""

from recency.evaluations.endpoint.figure import main
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(**snakemake.input, out=snakemake.output)
