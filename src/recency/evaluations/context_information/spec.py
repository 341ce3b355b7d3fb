"""Information of the context: what words more than k words back contribute to predicting the next word."""

from functools import partial

from recency.evaluations.registry import Evaluation, settings
from recency.planned import Planned

settings_of = partial(settings, "context_information")


def stem(settings: dict) -> str:
    """Return the settings as a file name, shared by experiments with the same settings."""
    return "{dataset}.{words}-context-{context}-seed-{seed}".format(**settings)


def _files(study: Planned, experiment: str) -> list[str]:
    name = stem(settings_of(study.config, experiment))
    return [
        f"<results>/context_information/{lm['variant']}/{name}.parquet"
        for lm in study.variants(experiment)
    ]


EVALUATION = Evaluation(
    key="context_information",
    network=True,
    inputs={"predictions": _files},
)
