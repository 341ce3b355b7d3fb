"""Rule maze_choices: which of word and foil LMs and readers choose, and contrasts between versions of items."""

from recency.evaluations.maze.choices import main
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(
            words=snakemake.input.words,
            surprisals=snakemake.input.surprisals,
            choices=snakemake.input.get("choices"),
            times=snakemake.input.get("times", []),
            out=snakemake.output.choices,
            out_contrasts=snakemake.output.contrasts,
            **{
                key: snakemake.params[key]
                for key in (*("lms", "baseline", "by", "filter", "condition", "contrasts", "seed"),)
            },
        )
