"""Rule fine_tune: a masked LM fine-tuned on a GLUE task, from several seeds."""

from recency.evaluations.glue.fine_tune import main
from recency.workflow.job import code_of, logged
from recency.workflow.network import opened_from

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(
            files={
                role: path
                for role, path in snakemake.input.items()
                if role in ("train", "dev", "dev_too")
            },
            **opened_from(
                snakemake.input.model, snakemake.params.checkpoint, snakemake.params.allow_pickle
            ),
            out=snakemake.output[0],
            lm=snakemake.wildcards.lm,
            name=snakemake.wildcards.task,
            task=snakemake.params.task,
            settings=snakemake.params.settings,
            bias=snakemake.params.bias,
            threads=snakemake.threads,
            code=code_of(snakemake.params),
        )
