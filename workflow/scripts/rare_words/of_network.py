"""Rule rare_words_by_lm: an LM's embedding table against people's ratings of pairs of words."""

from recency.evaluations.rare_words.score import of_network
from recency.workflow.job import logged
from recency.workflow.network import opened_from

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        params = dict(snakemake.params.items())
        of_network(
            snakemake.input.pairs,
            **opened_from(
                snakemake.input.model, params.pop("checkpoint"), params.pop("allow_pickle")
            ),
            out=snakemake.output[0],
            neighbours=params["neighbours"],
        )
