"""Rule triggering: how much likelier a word is so many words after another one."""

from recency.evaluations.triggering.count import main
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(
            text=snakemake.input.text,
            out=snakemake.output[0],
            **{key: snakemake.params[key] for key in ("pairs", "reach", "seed")},
        )
