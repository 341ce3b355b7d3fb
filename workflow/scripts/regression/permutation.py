"""Paired permutation tests between LMs on the held-out partition (Clark et al. 2025, Section 4)."""

from recency.evaluations.reading_times.permutation import main
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(
            held_out=snakemake.input.held_out,
            words=snakemake.input.words,
            unigram=snakemake.input.get("unigram", ()),
            surprisal_a=snakemake.input.surprisal_a,
            surprisal_b=snakemake.input.surprisal_b,
            fit_a=snakemake.input.fit_a,
            fit_b=snakemake.input.fit_b,
            others=snakemake.input.get("others", ()),
            out=snakemake.output[0],
            out_kinds=snakemake.output.kinds,
            kinds=snakemake.params.kinds,
            comparisons=snakemake.params.comparisons,
            named=snakemake.params.named,
            baselines=snakemake.params.baselines,
            permutations=snakemake.params.permutations,
            seed=snakemake.params.seed,
        )
