"""Rule learning_curves: ΔLogLik, perplexity, minimal pairs and attention of LMs at steps of their training."""

from recency.evaluations.curves.points import main
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(out=snakemake.output[0], **snakemake.input, **snakemake.params)
