"""ΔLogLik by LM and response, published beside reproduced (Clark et al. 2025, Table 2)."""

from recency.evaluations.reading_times.table_delta_loglik import main
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(**snakemake.input, out=snakemake.output, **snakemake.params)
