"""Run the function that a rule's parameter `main` names: `module`'s `main`, or `module:function`."""

from importlib import import_module

from recency.workflow.engine.job import run

if __name__ == "__main__":
    module, _, function = snakemake.params.main.partition(":")
    run(getattr(import_module(f"recency.{module}"), function or "main"), snakemake)
