"""Run the function `main` of the module that a rule's parameter `main` names, below `recency`."""

from importlib import import_module

from recency.workflow.engine.job import run

if __name__ == "__main__":
    run(import_module(f"recency.{snakemake.params.main}").main, snakemake)
