"""Rule condition_means: mean response and mean surprisal by condition."""

from recency.evaluations.conditions.means import main
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(
            words=snakemake.input.words,
            observations=snakemake.input.observations,
            surprisals=snakemake.input.surprisals,
            out=snakemake.output[0],
            **snakemake.params,
        )
