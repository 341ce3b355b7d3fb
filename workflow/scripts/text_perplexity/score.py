"""Rule text_perplexity: surprisal of every token of a corpus under one network."""

from recency.evaluations.text_perplexity.score import main
from recency.workflow.job import logged
from recency.workflow.network import opened_from

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        params = dict(snakemake.params.items())
        main(
            tokens=snakemake.input.tokens,
            info=snakemake.input.info,
            **opened_from(
                snakemake.input.model, params.pop("checkpoint"), params.pop("allow_pickle")
            ),
            out=snakemake.output[0],
            lm=snakemake.wildcards.lm,
            threads=snakemake.threads,
            **params,
        )
