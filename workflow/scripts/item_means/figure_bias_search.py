"""What a search of a bias's parameters tried: their gain in log-likelihood over the unbiased LM."""

from recency.evaluations.bias_search.figure import main
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(
            trials=snakemake.input.trials,
            best=snakemake.input.best,
            out=snakemake.output,
            labels=snakemake.params.labels,
        )
