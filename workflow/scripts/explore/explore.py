"""Write the page for exploring an experiment's words, readers and LMs."""

from recency.evaluations.explore.assemble import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
