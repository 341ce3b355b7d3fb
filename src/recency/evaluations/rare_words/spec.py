"""Rare words: vectors derived from orthographically similar words, compared with human ratings."""

import os

from recency.evaluations.registry import Data, Evaluation, named
from recency.planned import Planned

KEY = "rare_words"


def _files(study: Planned, experiment: str) -> list[str]:
    """Return the scores of an experiment's LMs and existing vectors, set by set."""
    paths = []
    for pairs in study.data_here(experiment, KEY):
        where = f"<results>/rare_words/{pairs}"
        paths += [f"{where}/lms/{lm}.csv" for lm in study.experiment(experiment)["lms"]]
        here = [entry["name"] for entry in _vectors(study, pairs) if entry["here"]]
        paths += [f"{where}/vectors/{name}.csv" for name in here]
    return paths


def _vectors(study: Planned, pairs: str) -> list[dict]:
    """Return a set's vectors: name, label, whether the file exists, and a hint if not."""
    return [
        {
            "name": key,
            "label": file.get("label", key),
            "here": os.path.exists(file["local"]),
            "supplied": f"{file['local']}: {file.get('supplied', 'is not here')}",
        }
        for key, file in study.config["word_pairs"][pairs].get("vectors", {}).items()
    ]


def _sets(study: Planned, experiment: str) -> list[dict]:
    """Return each set of pairs: its label, its vectors, and the reason if it is not run."""
    return [
        {
            "label": study.config["word_pairs"][pairs]["label"],
            "vectors": _vectors(study, pairs),
            "not_run": study.no_data.get((KEY, pairs)),
        }
        for pairs in named(study.experiment(experiment), KEY)
    ]


EVALUATION = Evaluation(
    key=KEY,
    network=True,
    wildcards={"word_pairs": "word_pairs"},
    data=Data("word_pairs", ("pairs",)),
    inputs={"scores": _files},
    settings={"sets": _sets},
)
