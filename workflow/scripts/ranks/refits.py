"""One regression refitted to subjects drawn anew: its log-likelihood on their exploratory observations."""

from recency.evaluations.ranks.refits import main
from recency.regression.inputs import Inputs
from recency.workflow.job import logged

if __name__ == "__main__":
    params = dict(snakemake.params.items())
    inputs = Inputs.of_job(snakemake.input, params.pop("others"))
    with logged(snakemake.log[0]):
        main(
            inputs,
            snakemake.output[0],
            **params,
        )
