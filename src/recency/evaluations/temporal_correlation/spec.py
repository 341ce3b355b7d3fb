"""Temporal correlation: similarity of a network's states by distance in words."""

from functools import partial

from recency.evaluations.registry import Evaluation, settings

settings_of = partial(settings, "temporal_correlation")


def _files(study, experiment: str) -> list[str]:
    name = "{dataset}.reach-{reach}-seed-{seed}".format(**settings_of(study.config, experiment))
    return [
        f"<results>/temporal_correlation/{lm['variant']}/{name}.csv"
        for lm in study.variants(experiment)
    ]


EVALUATION = Evaluation(
    key="temporal_correlation",
    network=True,
    applies=lambda study, experiment: (
        study.experiment(experiment).get("temporal_correlation", {}).get("dataset")
        not in (None, *study.not_run)
    ),
    inputs={"correlations": _files},
    settings={"variants": lambda study, experiment: study.variants(experiment)},
)
