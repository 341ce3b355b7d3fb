"""Rule length_perplexity: nats of the same masked tokens of a text, read in pieces of several lengths."""

from recency.evaluations.length.score import main
from recency.workflow.job import logged
from recency.workflow.network import opened_from

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(
            text=snakemake.input.text,
            **opened_from(
                snakemake.input.model, snakemake.params.checkpoint, snakemake.params.allow_pickle
            ),
            out=snakemake.output[0],
            lm=snakemake.wildcards.lm,
            bias=snakemake.params.bias,
            threads=snakemake.threads,
            lengths=[int(each) for each in snakemake.wildcards.lengths.split("-")],
            documents=None
            if snakemake.wildcards.documents == "all"
            else int(snakemake.wildcards.documents),
            share=float(snakemake.wildcards.share.replace("_", ".")),
            seed=int(snakemake.wildcards.seed),
        )
