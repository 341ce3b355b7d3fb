"""The report: one page that begins with the answer."""

from recency.evaluations.report.page import main
from recency.workflow.script import run

if __name__ == "__main__":
    run(main, snakemake)
