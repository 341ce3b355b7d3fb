"""The verdict of an experiment: which LM predicts best, and how sure that is."""

from recency.evaluations.reading_times.verdict import main
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(**snakemake.input, out=snakemake.output[0], **snakemake.params)
