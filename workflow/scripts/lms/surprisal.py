"""Rule surprisal: surprisal of every word of some datasets under one language model (contract 3)."""

from recency.workflow.job import code_of, logged
from recency.workflow.scored import main

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(
            words=snakemake.input.words,
            trained=snakemake.input.model,
            out=snakemake.output.surprisal,
            ledger=snakemake.output.ledger,
            lm=snakemake.wildcards.lm,
            code=code_of(snakemake.params),
            threads=snakemake.threads,
            **dict(snakemake.params.items()),
        )
