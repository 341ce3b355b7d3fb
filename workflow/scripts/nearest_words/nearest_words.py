"""Rule nearest_words: the words nearest to some, by a network's embedding and by its memory of words."""

from recency.evaluations.nearest_words.score import main
from recency.workflow.job import logged
from recency.workflow.network import opened_from

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(
            **opened_from(
                snakemake.input.model, snakemake.params.checkpoint, snakemake.params.allow_pickle
            ),
            out=snakemake.output[0],
            lm=snakemake.wildcards.lm,
            **{key: snakemake.params[key] for key in ("words", "neighbours")},
        )
