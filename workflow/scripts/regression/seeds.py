"""ΔLogLik of LMs trained from several seeds: variance between seeds and between items."""

from recency.evaluations.reading_times.seeds import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
