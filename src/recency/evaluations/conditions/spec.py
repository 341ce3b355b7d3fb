"""Responses to regions of experiments, and each LM's surprisal there, by condition."""

from functools import partial

from readingtimes.names import nearest
from recency.evaluations.registry import Evaluation, settings
from recency.reading import declared_columns

settings_of = partial(settings, "conditions")


def _setting(key: str):
    return lambda study, experiment: settings_of(study.config, experiment)[key]


def _observations(study, experiment: str) -> list[str]:
    """Return the observations, without the held-out partition."""
    settings = settings_of(study.config, experiment)
    name, measure = settings["dataset"], settings["measure"]
    parts = ("fit", "exploratory") if study.partitioned(name) else ("fit",)
    return [f"<results>/observations/{name}.{measure}/{part}.parquet" for part in parts]


def _problems(config, name) -> list[str]:
    if "conditions" not in config["experiments"][name]:
        return []
    settings, where = settings_of(config, name), f"experiments → {name} → conditions"
    dataset = config["datasets"][settings["dataset"]]
    problems = []
    if settings["measure"] not in dataset["measures"]:
        near = nearest(settings["measure"], dataset["measures"])
        problems.append(f"{where} → measure: {settings['dataset']} has no measure {near}")
    columns = declared_columns.of_words(config, dataset)
    for key in ("by", "stimulus"):
        if settings[key] not in columns:
            near = nearest(settings[key], columns)
            problems.append(
                f"{where} → {key}: the words of {settings['dataset']} have no column {near}; "
                "map a table's other columns in options → columns"
            )
    return problems


EVALUATION = Evaluation(
    key="conditions",
    applies=lambda study, experiment: (
        study.experiment(experiment).get("conditions", {}).get("dataset")
        not in (None, *study.not_run)
    ),
    inputs={
        "words": lambda study, experiment: (
            f"<results>/datasets/{_setting('dataset')(study, experiment)}/words.parquet"
        ),
        "observations": _observations,
        "surprisals": lambda study, experiment: [
            f"<results>/surprisal/{lm}/{_setting('dataset')(study, experiment)}.parquet"
            for lm in study.experiment(experiment)["lms"]
        ],
    },
    settings={key: _setting(key) for key in ("by", "stimulus", "measure")},
    problems=_problems,
)
