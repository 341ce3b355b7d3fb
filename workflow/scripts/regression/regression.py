"""Fit regressions of some responses, with or without an LM's surprisal: one JSON file each."""

from recency.workflow.fits import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
