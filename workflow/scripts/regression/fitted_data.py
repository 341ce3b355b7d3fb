"""Rules fitted_data, fitted_nested_data: the rows and columns that a regression was fitted to, as a table."""

from recency.regression.fitted import main
from recency.regression.inputs import Inputs
from recency.workflow.job import logged

if __name__ == "__main__":
    inputs = Inputs.of_job(snakemake.input, snakemake.params.others, snakemake.params.get("beside"))
    with logged(snakemake.log[0]):
        main(
            snakemake.input.regression,
            inputs,
            out=snakemake.output.parquet,
            out_csv=snakemake.output.csv,
        )
