"""Serial position: recognition and recall of the words of a list by their position."""

from functools import partial
from pathlib import Path

from readingtimes import filters
from recency.evaluations.registry import Evaluation, setting, settings
from recency.planned import Planned
from recency.reading import declared_columns

DRAWN = (
    *("filter", "lengths", "lists", "samples", "temperature", "score"),
    *("study", "probe", "recall", "seed"),
)
settings_of = partial(settings, "serial_position")


def _pool(study: Planned, experiment: str) -> str:
    """Return the file that provides the words of lists."""
    settings = settings_of(study.config, experiment)
    if "file" in settings:
        return settings["file"]
    return f"<results>/datasets/{settings['dataset']}/words.parquet"


def _scores(study: Planned, experiment: str) -> list[str]:
    return [
        f"<results>/serial_position/{experiment}/{lm['variant']}.parquet"
        for lm in study.variants(experiment)
    ]


def _parameters(study: Planned, experiment: str) -> dict:
    """Return the parameters of rule remember_lists."""
    settings = settings_of(study.config, experiment)
    return {key: settings.get(key) for key in DRAWN}


def _problems(config: dict, name: str) -> list[str]:
    if "serial_position" not in config["experiments"][name]:
        return []
    settings, where = settings_of(config, name), f"experiments → {name} → serial_position"
    if "file" in settings:
        if "filter" in settings:
            return [f"{where} → filter: a file of words has no columns; remove the filter"]
        missing = not Path(settings["file"]).is_file()
        return [f"{where} → file: {settings['file']} does not exist"] if missing else []
    if "filter" not in settings:
        return []
    columns = declared_columns.of_words(config, config["datasets"][settings["dataset"]])
    problem = filters.problem(settings["filter"], columns)
    return [f"{where} → filter: {problem}"] if problem else []


EVALUATION = Evaluation(
    key="serial_position",
    network=True,
    inputs={"pool": _pool, "scores": _scores},
    settings={
        "drawn": _parameters,
        "seed": setting("serial_position", "seed"),
    },
    problems=_problems,
)
