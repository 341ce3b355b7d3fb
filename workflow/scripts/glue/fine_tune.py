"""Rule fine_tune: fine-tune a masked LM on a GLUE task from several seeds."""

from recency.evaluations.glue.fine_tune import main
from recency.workflow.engine.job import run

if __name__ == "__main__":
    run(main, snakemake, name=snakemake.wildcards.task)
