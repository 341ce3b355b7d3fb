"""Contrasts between words, in readers' responses of any measure and in LMs' surprisal."""

from collections.abc import Iterator, Mapping
from functools import partial

from readingtimes import filters
from readingtimes.names import nearest
from recency.evaluations.registry import Evaluation, setting, settings
from recency.planned import Planned
from recency.reading import declared_columns

settings_of = partial(settings, "contrasts")


def listed(contrasts: Mapping[str, Mapping]) -> list[dict]:
    """Return contrasts as dicts of contrast, label, region, high and low."""
    return [
        {"contrast": name, "region": None, "label": name, **entry}
        for name, entry in contrasts.items()
    ]


def conditions_of(contrasts: Mapping[str, Mapping]) -> Iterator[tuple[str, str]]:
    """Yield the conditions of contrasts, each with its path in the config."""
    for name, entry in contrasts.items():
        for side in ("region", "high", "low"):
            if side in entry:
                yield f"contrasts → {name} → {side}", entry[side]


def _observations(study: Planned, experiment: str) -> list[str]:
    """Return the observations of all measures, without the held-out partition."""
    settings = settings_of(study.config, experiment)
    name = settings["dataset"]
    parts = ("fit", "exploratory") if study.partitioned(name) else ("fit",)
    return [
        f"<results>/observations/{name}.{measure}/{part}.parquet"
        for measure in settings["measures"]
        for part in parts
    ]


def _problems(config, name) -> list[str]:
    if "contrasts" not in config["experiments"][name]:
        return []
    settings, where = settings_of(config, name), f"experiments → {name} → contrasts"
    called, dataset = settings["dataset"], config["datasets"][settings["dataset"]]
    problems = [
        f"{where} → measures: {called} has no measure {nearest(measure, dataset['measures'])}"
        for measure in settings["measures"]
        if measure not in dataset["measures"]
    ]
    columns = declared_columns.of_words(config, dataset)
    if settings["by"] not in columns:
        problems.append(
            f"{where} → by: the words of {called} have no column {nearest(settings['by'], columns)}; "
            "map a table's other columns in options → columns"
        )
    conditions = [*conditions_of(settings["contrasts"])]
    conditions += [("filter", settings["filter"])] if "filter" in settings else []
    for key, text in conditions:
        if problem := filters.problem(text, columns):
            problems.append(f"{where} → {key}: {problem}")
    return problems


EVALUATION = Evaluation(
    key="contrasts",
    inputs={
        "words": lambda study, experiment: (
            f"<results>/datasets/{settings_of(study.config, experiment)['dataset']}/words.parquet"
        ),
        "observations": _observations,
        "surprisals": lambda study, experiment: [
            f"<results>/surprisal/{lm}/{settings_of(study.config, experiment)['dataset']}.parquet"
            for lm in study.experiment(experiment)["lms"]
        ],
    },
    settings={
        **{key: setting("contrasts", key) for key in ("by", "filter", "measures")},
        "contrasts": lambda study, experiment: listed(
            settings_of(study.config, experiment)["contrasts"]
        ),
    },
    problems=_problems,
)
