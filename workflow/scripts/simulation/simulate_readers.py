"""Write the reading times of simulated readers, whose expectations are a known model's surprisal."""

from recency.simulation.responses import main
from recency.workflow.job import logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(
            words=snakemake.input.words,
            surprisal=snakemake.input.surprisal,
            unigram=snakemake.input.unigram,
            out_responses=snakemake.output.responses,
            out_truth=snakemake.output.truth,
            measure=snakemake.params.measure,
            reader=snakemake.params.reader,
            **snakemake.params.readers,
        )
