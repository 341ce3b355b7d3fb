"""Rule surprisal_table: surprisal of every word of a dataset from a table of one's own (contract 3)."""

from recency.scoring.surprisal_table import main
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(
            words=snakemake.input.words,
            table=snakemake.input.table,
            out=snakemake.output[0],
            ledger=snakemake.output.get("ledger"),
            dataset=snakemake.wildcards.dataset,
            lm=snakemake.wildcards.lm,
            accept=snakemake.params.accept,
            **snakemake.params.settings,
        )
