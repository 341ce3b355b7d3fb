"""The verdict of an experiment: which LM predicts best, and how sure that is."""

from recency.evaluations.reading_times.verdict import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
