"""Draw a figure or table of an experiment, with the function of its evaluation."""

from recency import plugins
from recency.workflow.engine.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        settings = dict(snakemake.params)
        name, function = settings.pop("module"), settings.pop("function")
        module = plugins.load("recency.evaluations", name, "evaluation", function)
        getattr(module, function)(**snakemake.input, **snakemake.output, **settings)
