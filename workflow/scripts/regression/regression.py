"""Fit regressions of some responses, with an LM's surprisal or without: a JSON file each."""

from recency.workflow.fits import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
