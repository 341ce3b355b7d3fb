"""The course of a run: start, state, failures, jobs; everything that knows Snakemake."""
