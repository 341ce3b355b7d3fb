"""Run the function `main` of the module that a rule's parameter `main` names, below `recency`."""

from importlib import import_module

from recency.workflow.job import run

if __name__ == "__main__":
    run(import_module(f"recency.{snakemake.params.main}").main, snakemake)
