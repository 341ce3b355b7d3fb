"""Measured memory of LMs: the effect of a replaced word on the surprisal of later words."""

from functools import partial

from recency.evaluations import registry
from recency.evaluations.registry import Evaluation, settings
from recency.planned import Planned

settings_of = partial(settings, "measured_memory")


def stem(settings: dict) -> str:
    """Return the settings as a file name, shared by experiments with the same settings."""
    return "{dataset}.{replacements}-reach-{reach}-before-{before}-seed-{seed}".format(**settings)


def _files(study: Planned, experiment: str) -> list[str]:
    name = stem(settings_of(study.config, experiment))
    return [
        f"<results>/measured_memory/{lm['variant']}/{name}.parquet"
        for lm in study.variants(experiment)
    ]


def _kinds(study: Planned, experiment: str) -> dict[str, str]:
    """Return LM → the kind of its memory, where an experiment measures memories."""
    if "measured_memory" not in study.experiment(experiment):
        return {}
    from recency.figures import comparison  # pandas is not needed for planning

    lms, _ = comparison.records(study.ranked_lms(experiment), [])
    return {lm.lm: lm.memory for lm in lms if lm.memory}


EVALUATION = Evaluation(
    key="measured_memory",
    network=True,
    inputs={"memories": _files},
    conditions={"ranked": lambda study, experiment: registry.ranking().applies(study, experiment)},
    kinds=_kinds,
)
