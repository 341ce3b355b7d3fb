"""Rule attention_heads: attention from head words to their dependents (Clark et al. 2025, 7.1)."""

from recency.evaluations.dependencies.score import main
from recency.workflow.job import logged
from recency.workflow.network import opened_from

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(
            words=snakemake.input.words,
            dependencies=snakemake.input.dependencies,
            **opened_from(
                snakemake.input.model, snakemake.params.checkpoint, snakemake.params.allow_pickle
            ),
            out=snakemake.output[0],
            summary=snakemake.output.summary,
            lm=snakemake.wildcards.lm,
            threads=snakemake.threads,
            **{key: snakemake.params[key] for key in ("bias", "bos", "stride", "seed")},
        )
