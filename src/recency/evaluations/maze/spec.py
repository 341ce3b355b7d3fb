"""Mazes: LMs' choices between words and foils, and contrasts between versions of items."""

from functools import partial

from readingtimes import filters
from recency import config as configuration
from recency.evaluations.contrasts.spec import conditions_of, listed
from recency.evaluations.registry import Evaluation, setting, settings
from recency.planned import Planned
from recency.reading import declared_columns

settings_of = partial(settings, "maze")


def _contrasts(study: Planned, experiment: str) -> list[dict]:
    """Return each contrast as contrast, label, region, high and low."""
    return listed(settings_of(study.config, experiment).get("contrasts", {}))


def _surprisals(study: Planned, experiment: str) -> list[str]:
    """Return the surprisals of all LMs except tables, which lack words that were not read."""
    dataset = settings_of(study.config, experiment)["dataset"]
    return [
        f"<results>/surprisal/{lm}/{dataset}.parquet"
        for lm in study.experiment(experiment)["lms"]
        if configuration.kind_of(study.lms[lm]) != "table"
    ]


def _readers(study: Planned, experiment: str) -> dict[str, list[str] | str]:
    """Return readers' choices and times, without the held-out partition."""
    settings = settings_of(study.config, experiment)
    if "measure" not in settings:
        return {}
    name, measure = settings["dataset"], settings["measure"]
    parts = ("fit", "exploratory") if study.partitioned(name) else ("fit",)
    return {
        "choices": study.responses_file(name, measure),
        "times": [f"<results>/observations/{name}.{measure}/{part}.parquet" for part in parts],
    }


def _problems(config, name) -> list[str]:
    """List measures, columns and conditions of an experiment that its dataset does not have."""
    if "maze" not in config["experiments"][name]:
        return []
    settings, where = settings_of(config, name), f"experiments → {name} → maze"
    called, dataset = settings["dataset"], config["datasets"][settings["dataset"]]
    columns, problems = declared_columns.of_filters(config, dataset, None), []
    if "measure" in settings and settings["measure"] not in dataset["measures"]:
        problems.append(f"{where} → measure: {called!r} has no measure {settings['measure']!r}")
    if "foil" not in columns:
        problems.append(f"{where} → dataset: {called!r} has no column foil; map the foils to it")
    for key in ("by", "condition"):
        if settings.get(key, "item") not in columns:
            problems.append(f"{where} → {key}: the words have no column {settings[key]!r}")
    conditions = {"filter": settings.get("filter")}
    conditions |= dict(conditions_of(settings.get("contrasts", {})))
    for key, text in conditions.items():
        if text is not None and (problem := filters.problem(text, columns)):
            problems.append(f"{where} → {key}: {problem}")
    return problems


EVALUATION = Evaluation(
    key="maze",
    inputs={
        "words": lambda study, experiment: (
            f"<results>/datasets/{settings_of(study.config, experiment)['dataset']}/words.parquet"
        ),
        "surprisals": _surprisals,
        "readers": _readers,
    },
    settings={
        **{key: setting("maze", key) for key in ("by", "condition", "filter")},
        "contrasts": _contrasts,
    },
    conditions={"contrasts": lambda study, experiment: bool(_contrasts(study, experiment))},
    problems=_problems,
)
