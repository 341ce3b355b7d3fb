"""Draw a figure or table of an experiment, with the function of its evaluation."""

from recency import plugins
from recency.workflow.engine.job import arguments, logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        name, function = snakemake.params.module, snakemake.params.function
        module = plugins.load("recency.evaluations", name, "evaluation", function)
        show = getattr(module, function)
        show(**arguments(show, snakemake))
