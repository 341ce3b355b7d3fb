"""Rule dependencies: dependencies between the words of a dataset, from its annotated trees."""

from recency.evaluations.dependencies.extract import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
