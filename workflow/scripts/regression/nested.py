"""What an LM adds to another one in the same regression, both ways, from fits and held-out rows."""

from recency.evaluations.reading_times.nested import main
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(
            out=snakemake.output[0],
            others=snakemake.input.get("others", ()),
            **{key: files for key, files in snakemake.input.items() if key != "others"},
            **snakemake.params,
        )
