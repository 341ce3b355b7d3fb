"""Rule train_cdlm: an n-gram model times what words further back make of a word."""

from recency.scoring.train_cdlm import main
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(
            text=snakemake.input.text,
            validation=snakemake.input.validation,
            arpa=snakemake.input.arpa,
            grown_from=snakemake.input.get("grown_from", ()),
            out=snakemake.output[0],
            threads=snakemake.threads,
            text_rule=snakemake.params.text_rule,
            **snakemake.params.settings,
        )
