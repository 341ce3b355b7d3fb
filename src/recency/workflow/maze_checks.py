"""Checks of what experiments ask of mazes: foils, columns and conditions that there are."""

from recency.errors import InputError
from recency.reading import filters
from recency.workflow import dataset_checks

SIDES = ("region", "high", "low")


def problems(config: dict, name: str, known) -> list[str]:
    """List what an experiment's `maze` names that its dataset has not."""
    settings, where = config["experiments"][name].get("maze"), f"experiments → {name} → maze"
    if settings is None or not known(f"{where} → dataset", settings["dataset"], "datasets"):
        return []
    called, dataset = settings["dataset"], config["datasets"][settings["dataset"]]
    columns, found = dataset_checks.columns_of(config, dataset, None), []
    if "measure" in settings and settings["measure"] not in dataset["measures"]:
        found.append(f"{where} → measure: {called!r} has none called {settings['measure']!r}")
    if columns is not None:
        if "foil" not in columns:
            found.append(f"{where} → dataset: {called!r} has no column foil; map the foils to it")
        for key in ("by", "condition"):
            if settings.get(key, "item") not in columns:
                found.append(f"{where} → {key}: the words have no column {settings[key]!r}")
    conditions = {"filter": settings.get("filter")}
    for contrast, each in settings.get("contrasts", {}).items():
        conditions |= {f"contrasts → {contrast} → {side}": each.get(side) for side in SIDES}
    for key, text in conditions.items():
        if text is not None and (problem := _condition(text, columns)):
            found.append(f"{where} → {key}: {problem}")
    return found


def _condition(text: str, columns: dict[str, str] | None) -> str | None:
    """Say what is wrong with a condition; of unknown columns its grammar alone counts."""
    try:
        known = dict.fromkeys(filters.read(text).columns, filters.ANY)
    except InputError as error:
        return str(error)
    return filters.problem(text, known if columns is None else columns)
