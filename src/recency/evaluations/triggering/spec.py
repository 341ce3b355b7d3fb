"""Word triggering: how far a word increases the probability of others in a training text."""

from recency.evaluations import registry
from recency.evaluations.registry import Evaluation

#: Evaluations whose figures figure_retention reads.
RETENTION = ("measured_memory", "temporal_correlation")


def _settings(study, experiment: str) -> dict:
    return registry.settings("triggering", study.config, experiment)


def _has_retention(study, experiment: str) -> bool:
    """Return whether the experiment also measures its LMs' memories in both ways."""
    every = registry.evaluations()
    return all(every[name].applies(study, experiment) for name in RETENTION)


EVALUATION = Evaluation(
    key="triggering",
    uses_lms=False,
    applies=lambda study, experiment: "triggering" in study.experiment(experiment),
    inputs={
        "text": lambda study, experiment: (
            f"<results>/corpora/{_settings(study, experiment)['corpus']}/text.parquet"
        )
    },
    settings={
        "pairs": lambda study, experiment: _settings(study, experiment)["pairs"],
        "reach": lambda study, experiment: _settings(study, experiment)["reach"],
        "variants": lambda study, experiment: study.variants(experiment),
    },
    conditions={"retention": _has_retention},
)
