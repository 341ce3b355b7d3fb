"""Fit one regression fold by fold, each fold scored by the fit to all the others."""

from recency.regression.folds import main
from recency.regression.inputs import Inputs
from recency.workflow.job import logged

if __name__ == "__main__":
    params = dict(snakemake.params.items())
    inputs = Inputs.of_job(snakemake.input, params.pop("others"))
    with logged(snakemake.log[0]):
        main(
            inputs,
            snakemake.output[0],
            snakemake.output.observations,
            **params,
        )
