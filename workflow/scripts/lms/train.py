"""Rule train: train a language model on a token stream, resuming a killed job."""

from recency.networks.train import main
from recency.workflow.engine.job import code_of, logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(
            tokens=snakemake.input.tokens,
            info=snakemake.input.info,
            tokenizer=snakemake.input.tokenizer,
            held_out=next(iter(snakemake.input.get("held_out", [])), None),
            vectors=next(iter(snakemake.input.get("vectors", [])), None),
            out=snakemake.output.config,
            threads=snakemake.threads,
            gpus=max(1, snakemake.resources.gpu),
            code=code_of(snakemake.params),
            tensorboard=snakemake.config.get("tensorboard", False),
            **snakemake.params,
        )
