"""Collect an experiment's fits into one table of ΔLogLik: full minus base, one row per response."""

from recency.evaluations.reading_times.delta_loglik import main
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(
            full=snakemake.input.full,
            base=snakemake.input.base,
            full_observations=snakemake.input.get("full_observations", ()),
            base_observations=snakemake.input.get("base_observations", ()),
            full_crossed=snakemake.input.get("full_crossed", ()),
            base_crossed=snakemake.input.get("base_crossed", ()),
            out=snakemake.output[0],
            out_subjects=snakemake.output.get("subjects"),
            out_intervals=snakemake.output.get("intervals"),
            out_seeds=snakemake.output.get("seeds"),
            **snakemake.params,
        )
