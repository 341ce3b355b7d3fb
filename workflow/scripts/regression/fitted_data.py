"""Rules fitted_data, fitted_nested_data: the rows and columns that a regression was fitted to, as a table."""

from recency.regression.fitted import main
from recency.workflow.job import logged

if __name__ == "__main__":
    named = [each["lm"] for each in snakemake.params.others]
    others = dict(zip(named, snakemake.input.get("others", ()), strict=True))
    if beside := snakemake.params.get("beside"):
        others[beside] = snakemake.input.beside
    with logged(snakemake.log[0]):
        main(
            regression=snakemake.input.regression,
            words=snakemake.input.words,
            fit=snakemake.input.fit,
            unigram=snakemake.input.get("unigram"),
            surprisal=snakemake.input.get("surprisal"),
            others=others,
            out=snakemake.output.parquet,
            out_csv=snakemake.output.csv,
        )
