"""The verdict of an experiment: which LM predicts best, and with what certainty."""

from recency.evaluations.reading_times.verdict import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
