"""Search a bias's parameters for the best fit to mean reading times (de Varda & Marelli 2024, 3.4)."""

from recency.evaluations.bias_search.search import main
from recency.workflow.job import code_of, logged
from recency.workflow.network import opened_from

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        settings = dict(snakemake.params.settings)
        network = [settings.pop(key) for key in ("checkpoint", "allow_pickle")]
        main(
            words=snakemake.input.words,
            fit=snakemake.input.fit,
            unigram=snakemake.input.get("unigram", ()),
            **opened_from(snakemake.input.model, *network),
            out_trials=snakemake.output.trials,
            out_best=snakemake.output.best,
            threads=snakemake.threads,
            code=code_of(snakemake.params),
            **settings,
        )
