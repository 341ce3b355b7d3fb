"""Rules fitted_data, fitted_nested_data: the rows and columns of a regression as a table."""

from recency.regression.fitted import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
