"""Abusive words among negative ones, by features and by LMs' vectors (chapter 6 of the thesis)."""

import os
from functools import partial

from recency.evaluations.registry import Data, Evaluation, setting, settings
from recency.planned import Planned

KEY = "abusive_words"
#: Feature groups of a format; the group of a table has the name of its config entry.
GROUPS = {"wordnet": ("WNusage", "WNsuper", "WNgloss"), "framenet": ("FN",)}
settings_of = partial(settings, KEY)


def features_of(config: dict, lexicon: str) -> list[dict]:
    """Return a lexicon's resources: name, format, path, groups, here (exists), supplied (a hint)."""
    return [
        {
            "name": name,
            "format": (form := file.get("format", "table")),
            "path": file["local"],
            "groups": GROUPS.get(form, (name,)),
            "here": os.path.exists(file["local"]),
            "supplied": f"{file['local']}: {file.get('supplied', 'is not here')}",
        }
        for name, file in config["lexicons"][lexicon].get("features", {}).items()
    ]


def _vectors(study: Planned, experiment: str) -> list[str]:
    asked = settings_of(study.config, experiment)
    stem = "{lexicon}.neighbours-{neighbours}-similarity-{similarity}".format(**asked)
    lms = study.experiment(experiment)["lms"]
    return [f"<results>/abusive_words/vectors/{lm}/{stem}.parquet" for lm in lms]


def _resources(study: Planned, experiment: str) -> list[dict]:
    return features_of(study.config, settings_of(study.config, experiment)["lexicon"])


def _lexicon(study: Planned, experiment: str) -> dict[str, str]:
    name = settings_of(study.config, experiment)["lexicon"]
    return {role: study.files.data(KEY, name, role) for role in ("base", "expanded")}


EVALUATION = Evaluation(
    key=KEY,
    network=True,
    wildcards={"lexicon": "lexicons"},
    data=Data("lexicons", ("base", "expanded"), within="lexicon"),
    inputs={
        "vectors": _vectors,
        "lexicon": _lexicon,
        "files": lambda study, experiment: [
            resource["path"] for resource in _resources(study, experiment) if resource["here"]
        ],
        "words": lambda study, experiment: (
            f"<results>/experiments/{experiment}/abusive_words_expanded.parquet"
        ),
    },
    settings={
        "resources": _resources,
        **{name: setting(KEY, name) for name in ("show_words", "folds", "seed")},
    },
)
