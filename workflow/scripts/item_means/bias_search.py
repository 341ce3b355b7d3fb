"""Search a bias's parameters for the best fit to mean reading times (de Varda & Marelli 2024, 3.4)."""

from recency.evaluations.bias_search.search import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
