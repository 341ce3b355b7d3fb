"""A figure or table of an experiment, by the module of its evaluation that makes it."""

from recency import plugins
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        settings = dict(snakemake.params)
        module = plugins.load("recency.evaluations", settings.pop("module"), "evaluation", "main")
        module.main(**snakemake.input, **snakemake.output, **settings)
