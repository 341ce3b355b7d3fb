"""Draw a figure or table of an experiment, with the module of its evaluation."""

from recency import plugins
from recency.workflow.engine.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        settings = dict(snakemake.params)
        module = plugins.load("recency.evaluations", settings.pop("module"), "evaluation", "main")
        module.main(**snakemake.input, **snakemake.output, **settings)
