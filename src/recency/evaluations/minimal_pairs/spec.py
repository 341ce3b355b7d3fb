"""Minimal pairs: which of two sentences each LM assigns a higher probability."""

from recency.config import training_words
from recency.evaluations.registry import Data, Evaluation
from recency.planned import Planned


def pairs(study: Planned, experiment: str, lm: str | None = None) -> str:
    """Return the file of an experiment's minimal pairs, or of an LM's surprisal of them."""
    name = study.experiment(experiment)["minimal_pairs"]
    return f"<results>/minimal_pairs/{f'{lm}/' if lm else ''}{name}.parquet"


def _training_words(study: Planned, experiment: str) -> str:
    """Return the baseline's number of training words as papers write it (10M), "" if unknown."""
    return training_words(study.config, study.experiment(experiment)["baseline"])


EVALUATION = Evaluation(
    key="minimal_pairs",
    network=True,
    applies=lambda study, experiment: (
        bool(study.data_here(experiment, "minimal_pairs"))
        and "steps" not in study.experiment(experiment)
    ),
    wildcards={"pairs": "minimal_pairs"},
    data=Data("minimal_pairs", ("table",)),
    inputs={
        "pairs": pairs,
        "scores": lambda study, experiment: [
            pairs(study, experiment, lm) for lm in study.experiment(experiment)["lms"]
        ],
    },
    settings={"training_words": _training_words},
)
