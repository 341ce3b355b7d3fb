"""Rule continuations: how LMs go on, shuffled among the originals, for people to judge."""

from recency.evaluations.rank_metrics.judges import main
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(
            continuations=snakemake.input.continuations,
            out=snakemake.output.blind,
            out_key=snakemake.output.key,
            **snakemake.params,
        )
