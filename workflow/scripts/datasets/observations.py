"""Filter responses as the paper does, count what each step drops, and part them in three or not."""

from recency.reading.observations import main
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(
            words=snakemake.input.words,
            responses=snakemake.input.responses,
            surprisal=snakemake.input.get("surprisal", []),
            out_fit=snakemake.output.fit,
            out_exploratory=snakemake.output.get("exploratory"),
            out_held_out=snakemake.output.get("held_out"),
            out_counts=snakemake.output.counts,
            **snakemake.params,
        )
