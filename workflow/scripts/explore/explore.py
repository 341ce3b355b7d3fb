"""Write the page on which an experiment's words, readers and LMs are explored."""

from recency.evaluations.explore.assemble import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
