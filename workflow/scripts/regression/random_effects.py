"""Search for the structure of the random effects, as Clark et al. (2025, Section 4.4) did."""

from recency.regression.inputs import Inputs
from recency.regression.random_effects import main
from recency.workflow.job import logged

if __name__ == "__main__":
    params = dict(snakemake.params.items())
    inputs = Inputs.of_job(snakemake.input, params.pop("others"))
    with logged(snakemake.log[0]):
        main(
            inputs,
            snakemake.output,
            **params,
        )
