"""Temporal correlation: similarity of a network's states by distance in words."""

from functools import partial

from recency.evaluations.registry import Evaluation, settings
from recency.planned import Planned

settings_of = partial(settings, "temporal_correlation")


def _files(study: Planned, experiment: str) -> list[str]:
    of = settings_of(study.config, experiment)
    text = f"corpus/{of['corpus']}" if of.get("corpus") else of["dataset"]
    name = f"{text}.reach-{of['reach']}-seed-{of['seed']}"
    return [
        f"<results>/temporal_correlation/{lm['variant']}/{name}.csv"
        for lm in study.variants(experiment)
    ]


EVALUATION = Evaluation(
    key="temporal_correlation",
    network=True,
    inputs={"correlations": _files},
)
