"""Conditions of an experiment's items: means, effects by item, and their prediction from surprisal."""

from collections.abc import Iterator
from functools import partial

from readingtimes import filters
from readingtimes.names import nearest
from recency import config as configuration
from recency.evaluations.contrasts.spec import conditions_of, listed
from recency.evaluations.registry import Evaluation, setting, settings
from recency.planned import Planned
from recency.reading import declared_columns

KEY = "conditions"
settings_of = partial(settings, KEY)


def _contrasts(study: Planned, experiment: str) -> str | list[dict]:
    """Return the coding of the conditions, or the contrasts; [] where effects are not asked for."""
    contrasts = settings_of(study.config, experiment).get("contrasts", {})
    return contrasts if isinstance(contrasts, str) else listed(contrasts)


def _has_fillers(study: Planned, experiment: str) -> bool:
    """Return whether there are fillers and their files exist."""
    fillers = settings_of(study.config, experiment).get("fillers")
    return fillers is not None and fillers.split(".", 1)[0] not in study.not_run


def _observations(study: Planned, experiment: str) -> list[str]:
    """Return the observations without the held-out partition."""
    settings = settings_of(study.config, experiment)
    name, measure = settings["dataset"], settings["measure"]
    parts = ("fit", "exploratory") if study.partitioned(name) else ("fit",)
    return [f"<results>/observations/{name}.{measure}/{part}.parquet" for part in parts]


def _surprisals(study: Planned, experiment: str) -> list[str]:
    name = settings_of(study.config, experiment)["dataset"]
    return [
        f"<results>/surprisal/{lm}/{name}.parquet" for lm in study.experiment(experiment)["lms"]
    ]


def _designs(config: dict, experiment: str, fillers: str) -> list[str]:
    """Return the designs of an experiment for a response."""
    return [
        response["design"]
        for response in configuration.responses(config, experiment)
        if "{dataset}.{measure}".format(**response) == fillers
    ]


def _fillers(study: Planned, experiment: str) -> list[str]:
    """Return the fillers' regression of each LM."""
    if not _has_fillers(study, experiment):
        return []
    fillers = settings_of(study.config, experiment)["fillers"]
    (design,) = _designs(study.config, experiment, fillers)
    lms = study.experiment(experiment)["lms"]
    return [f"<results>/regression/{design}/{fillers}/{lm}.full.json" for lm in lms]


def _conditions(settings: dict) -> Iterator[tuple[str, str]]:
    """Yield the conditions of contrasts, and of a region if any."""
    if isinstance(settings.get("contrasts"), dict):
        yield from conditions_of(settings["contrasts"])
    if "regions" in settings:
        yield "regions", f"region == {settings['regions'][0]!r}"


def _problems(config, name) -> list[str]:
    if KEY not in config["experiments"][name]:
        return []
    settings, where = settings_of(config, name), f"experiments → {name} → {KEY}"
    called, dataset = settings["dataset"], config["datasets"][settings["dataset"]]
    problems = []
    if settings["measure"] not in dataset["measures"]:
        near = nearest(settings["measure"], dataset["measures"])
        problems.append(f"{where} → measure: {called} has no measure {near}")
    elif "contrasts" in settings and "event" in dataset["measures"][settings["measure"]]:
        problems.append(
            f"{where} → measure: {settings['measure']} is an event; effects are of times, "
            "amplitudes and scores"
        )
    columns = declared_columns.of_words(config, dataset)
    for key in ("by", "stimulus"):
        if settings[key] not in columns:
            near = nearest(settings[key], columns)
            problems.append(
                f"{where} → {key}: the words of {called} have no column {near}; map a table's other "
                "columns in options → columns"
            )
    if "contrasts" not in settings:
        problems += [
            f"{where} → {key}: without `contrasts`, there are no effects; write `contrasts: treatment`, "
            f"or leave {key} out"
            for key in ("regions", "fillers")
            if key in settings
        ]
    for key, text in _conditions(settings):
        if problem := filters.problem(text, columns):
            problems.append(f"{where} → {key}: {problem}")
    if (fillers := settings.get("fillers")) is not None:
        count = len(_designs(config, name, fillers))
        if count != 1:
            problems.append(
                f"{where} → fillers: {fillers!r} is in {count} designs of the experiment's "
                "`responses`; list it in exactly one, which converts surprisal"
            )
    return problems


EVALUATION = Evaluation(
    key=KEY,
    inputs={
        "words": lambda study, experiment: (
            f"<results>/datasets/{settings_of(study.config, experiment)['dataset']}/words.parquet"
        ),
        "observations": _observations,
        "surprisals": _surprisals,
        "fillers": _fillers,
    },
    settings={
        **{key: setting(KEY, key) for key in ("by", "levels", "stimulus", "regions", "measure")},
        "contrasts": _contrasts,
    },
    conditions={
        "contrasts": lambda study, experiment: bool(_contrasts(study, experiment)),
        "fillers": _has_fillers,
    },
    problems=_problems,
)
