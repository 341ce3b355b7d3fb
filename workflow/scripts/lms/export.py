"""Rule export: one language model as a folder that transformers opens by itself, bias and all."""

from recency.export.write import main
from recency.workflow.job import logged
from recency.workflow.network import opened_from

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        params = dict(snakemake.params.items())
        main(
            **opened_from(
                snakemake.input.get("model"), params.pop("checkpoint"), params.pop("allow_pickle")
            ),
            out=snakemake.output[0],
            training=snakemake.input.get("training"),
            perplexity=snakemake.input.get("perplexity", []),
            delta_loglik=snakemake.input.get("delta_loglik", []),
            **params,
        )
