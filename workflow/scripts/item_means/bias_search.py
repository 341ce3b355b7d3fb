"""Search a bias's parameters for the best fit to mean reading times (de Varda & Marelli 2024, 3.4)."""

from pathlib import Path

from recency.evaluations.bias_search.search import main
from recency.workflow.job import code_of, logged

if __name__ == "__main__":
    with logged(snakemake.log[0]):
        folder = Path(snakemake.input.model[0]).parent if snakemake.input.model else None
        settings = dict(snakemake.params.settings)
        checkpoint = settings.pop("checkpoint")
        main(
            words=snakemake.input.words,
            fit=snakemake.input.fit,
            unigram=snakemake.input.get("unigram", ()),
            model=folder or checkpoint,
            tokenizer=folder and folder / "tokenizer.json",
            out_trials=snakemake.output.trials,
            out_best=snakemake.output.best,
            threads=snakemake.threads,
            code=code_of(snakemake.params),
            **settings,
        )
