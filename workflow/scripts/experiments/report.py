"""The report: one page that begins with the answer."""

from recency.evaluations.report.page import main
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(**snakemake.input, **snakemake.output, **snakemake.params)
