"""Word triggering: how far a word increases the probability of others in a training text."""

from recency.evaluations import registry
from recency.evaluations.registry import Evaluation, setting
from recency.planned import Planned

#: Evaluations whose figures figure_retention reads.
RETENTION = ("measured_memory", "temporal_correlation")


def _has_retention(study: Planned, experiment: str) -> bool:
    """Return whether the experiment also measures its LMs' memories in both ways."""
    every = registry.evaluations()
    return all(every[name].applies(study, experiment) for name in RETENTION)


EVALUATION = Evaluation(
    key="triggering",
    uses_lms=False,
    inputs={
        "text": lambda study, experiment: (
            f"<results>/corpora/{setting('triggering', 'corpus')(study, experiment)}/text.parquet"
        )
    },
    settings={name: setting("triggering", name) for name in ("pairs", "reach")},
    conditions={"retention": _has_retention},
)
