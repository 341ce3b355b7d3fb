"""Rare words: vectors of words that have none, from words written alike, against people's ratings."""

import os

from recency.evaluations.registry import Data, Evaluation


def _name(study, experiment: str) -> str:
    return study.experiment(experiment)["rare_words"]


def _vectors(study, experiment: str) -> dict[str, dict]:
    return study.config["word_pairs"][_name(study, experiment)].get("vectors", {})


def _files(study, experiment: str) -> list[str]:
    """Return the scores of an experiment's LMs, then of the vectors that are here."""
    name = _name(study, experiment)
    lms = [
        f"<results>/rare_words/{name}/lms/{lm}.csv" for lm in study.experiment(experiment)["lms"]
    ]
    here = [
        key for key, file in _vectors(study, experiment).items() if os.path.exists(file["local"])
    ]
    return lms + [f"<results>/rare_words/{name}/vectors/{key}.csv" for key in here]


def _described(study, experiment: str) -> list[dict]:
    """Return each of the vectors: name, label, whether it is here, and what to place if not."""
    return [
        {
            "name": key,
            "label": file.get("label", key),
            "here": os.path.exists(file["local"]),
            "placed": f"{file['local']}: {file.get('placed', 'is not here')}",
        }
        for key, file in _vectors(study, experiment).items()
    ]


EVALUATION = Evaluation(
    key="rare_words",
    network=True,
    applies=lambda study, experiment: bool(study.data_here(experiment, "rare_words")),
    wildcards={"word_pairs": "word_pairs"},
    data=Data("word_pairs", ("pairs",)),
    inputs={"scores": _files},
    settings={
        "vectors": _described,
        "pairs": lambda study, experiment: study.config["word_pairs"][_name(study, experiment)][
            "label"
        ],
    },
)
