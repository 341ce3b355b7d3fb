"""Checks of reading-time corpora: parser, its options, files, measures and filters."""

import re
from collections.abc import Iterator, Mapping

from recency import config as configuration
from recency import plugins
from recency.errors import InputError
from recency.names import nearest
from recency.reading import filters, join_keys
from recency.reading.response_names import AMPLITUDE, RESPONSES, SCORE, TIME
from recency.workflow import file_checks, option_checks, simulation_checks
from recency.workflow.schema_checks import short

NUMBER, TEXT, FLAG, ANY = filters.NUMBER, filters.TEXT, filters.FLAG, filters.ANY
#: The columns that filters may use whatever the parser, with their kinds; docs/corpora.md.
COLUMNS = {
    "subject": TEXT,
    "item": TEXT,
    "word": TEXT,
    "word_id": NUMBER,
    "sentence": NUMBER,
    "position": NUMBER,
    "span": NUMBER,
    "sentence_first": FLAG,
    "sentence_last": FLAG,
    "item_first": FLAG,
    "item_last": FLAG,
    "previous_fixated": FLAG,
    "space_after": FLAG,
}
#: What `eye_tracking: true` adds, and names that a table's words or responses may have.
OF_TABLES = {"words_since_fixation": NUMBER, "region": ANY, "sentence_label": ANY}
#: What the words of `shape: items` have (condition where the table has it), and what is read for them.
OF_ITEMS = {"stimulus": TEXT, "condition": TEXT}
READ_FOR_ITEMS = ("context", "critical", "continuation")
_MEASURE = re.compile(r"[A-Za-z0-9_]+")


def problems(config: dict, known) -> list[str]:
    """List datasets whose parser, options, files, measures, filters or readers cannot serve."""
    found, parsers = [], configuration.parsers()
    for name, dataset in config["datasets"].items():
        where = f"datasets → {name}"
        found += _files(where, dataset)
        if "dataset" in dataset["words"]:
            found += _shared_words(config, name, known)
        if "tagger" in dataset:
            known(f"{where} → tagger", dataset["tagger"], "treebanks")
        for lm in dataset.get("scored_by", []):
            known(f"{where} → scored_by", lm, "lms")
        if "simulate" in dataset:
            known(f"{where} → simulate → reader", dataset["simulate"]["reader"], "lms")
            found += simulation_checks.problems(f"{where} → simulate", dataset)
        if dataset["parser"] not in parsers:
            near = nearest(dataset["parser"], parsers)
            found.append(f"{where} → parser: none is called {near}")
            continue
        found += _options(where, dataset)
        found += _measures(where, dataset)
        found += _filters(config, where, dataset)
    return found


def _files(where: str, dataset: dict) -> list[str]:
    """List what is wrong with the files of a dataset."""
    found = []
    for part in ("words", "responses"):
        files = {role: file for role, file in dataset[part].items() if isinstance(file, dict)}
        found += file_checks.roles(f"{where} → {part}", files)
        for role, file in files.items():
            place = f"{where} → {part} → {role}"
            found += file_checks.problems(place, file, "simulate" in dataset)
    for name, entry in dataset.get("predictors", {}).items():
        place = f"{where} → predictors → {name}"
        found += file_checks.problems(f"{place} → table", entry["table"], False)
        unknown = entry["keys"].keys() - {*join_keys.KEYS, join_keys.TYPE}
        if unknown or (join_keys.TYPE in entry["keys"] and len(entry["keys"]) > 1):
            near = nearest(min(unknown), join_keys.KEYS) if unknown else "type stands alone"
            found.append(f"{place} → keys: {near}")
        if problem := join_keys.problem(entry.get("join")):
            found.append(f"{place} → {problem}")
    return found


def _shared_words(config: dict, name: str, known) -> list[str]:
    """List what keeps a dataset from having another's words."""
    dataset, where = config["datasets"][name], f"datasets → {name} → words → dataset"
    owner = dataset["words"]["dataset"]
    if not known(where, owner, "datasets"):
        return []
    other, found = config["datasets"][owner], []
    if "dataset" in other["words"]:
        found.append(f"{where}: {owner!r} has no words of its own; name the dataset that has")
    if "simulate" in dataset or "simulate" in other:
        found.append(f"{where}: {owner!r} is made with its readers; name a dataset with files")
    return found


def _options(where: str, dataset: dict) -> list[str]:
    """List options that the parser does not take, or not so."""
    parser = dataset["parser"]
    taken: dict[str, str] = {}
    for function in ("words", "responses"):
        taken |= plugins.keywords(configuration.PARSERS, parser, function)
    taken.pop("measures", None)  # the workflow's own
    choices = plugins.literal(configuration.PARSERS, parser, "CHOICES")
    options = dataset.get("options", {})
    found = option_checks.problems(f"{where} → options", options, taken, choices)
    if isinstance(join := options.get("join"), dict) and (problem := join_keys.problem(join)):
        found.append(f"{where} → options → {problem}")
    return found or _columns(f"{where} → options → columns", dataset)


def _columns(where: str, dataset: dict) -> list[str]:
    """List names of columns of an own table that are none."""
    columns = dataset.get("options", {}).get("columns") or {}
    if dataset["parser"] != "table":
        return []
    return [
        f"{where} → {name}: {short(column)} is no column's name"
        for name, column in _mapped(columns)
        if column is not None
        and not (isinstance(column, str) and column.strip())
        and not (isinstance(column, list) and column and all(isinstance(c, str) for c in column))
    ]


def _mapped(columns: Mapping) -> Iterator[tuple[str, object]]:
    """Yield name and column of an own table's `columns:`, those of one file too."""
    for name, column in columns.items():
        yield from column.items() if isinstance(column, dict) else [(name, column)]


def _measures(where: str, dataset: dict) -> list[str]:
    """List measures that the parser does not give, and steps and events that cannot be."""
    found, steps = [], dataset.get("filters", {})
    given = plugins.literal(configuration.PARSERS, dataset["parser"], "MEASURES")
    for measure, settings in dataset["measures"].items():
        place = f"{where} → measures → {measure[:60]}"
        if not _MEASURE.fullmatch(measure):
            found.append(f"{place}: a measure's name is letters, digits and _")
        elif given and "of" not in settings and measure not in given:
            near = nearest(measure, given)
            found.append(f"{place}: the parser {dataset['parser']} has no measure {near}")
        found += [
            f"{place}: no filter is called {nearest(step[:60], steps)}"
            for step in dict.fromkeys(settings["filters"])
            if step not in steps
        ]
        found += [
            f"{place} → filters: {short(step)} stands twice"
            for step in dict.fromkeys(settings["filters"])
            if settings["filters"].count(step) > 1
        ]
        found += _event(place, settings, dataset)
    return found


def _event(where: str, settings: dict, dataset: dict) -> list[str]:
    """List what is wrong with a measure that is an event of another one."""
    if ("of" in settings) != ("event" in settings):
        return [f"{where}: `of: <measure>` and `event: <condition>` go together"]
    others = [name for name, each in dataset["measures"].items() if "of" not in each]
    if "of" in settings and settings["of"] not in others:
        return [f"{where} → of: no measure is called {nearest(settings['of'], others)}"]
    return []


def _filters(config: dict, where: str, dataset: dict) -> list[str]:
    """List filters and events that are no conditions, or on columns that there are not."""
    found: dict[str, None] = {}
    steps = dataset.get("filters", {})
    used = {step for each in dataset["measures"].values() for step in each["filters"]}
    asked = [(None, step) for step in steps if step not in used]
    asked += [(m, s) for m, each in dataset["measures"].items() for s in each["filters"]]
    for measure, step in asked:
        if step in steps:
            columns = columns_of(config, dataset, measure)
            if problem := _condition(steps[step], columns):
                found[f"{where} → filters → {step[:60]}: {problem}"] = None
    for measure, settings in dataset["measures"].items():
        if "event" in settings:
            columns = columns_of(config, dataset, measure)
            if problem := _condition(settings["event"], columns):
                found[f"{where} → measures → {measure} → event: {problem}"] = None
    return list(found)


def _condition(text: str, columns: Mapping[str, str] | None) -> str | None:
    """Say what is wrong with a condition; of unknown columns its grammar alone counts."""
    if columns is not None:
        return filters.problem(text, columns)
    try:
        filters.read(text)
    except InputError as error:
        return str(error)
    return None


def columns_of(config: dict, dataset: dict, measure: str | None) -> dict[str, str] | None:
    """Return the columns that filters of a measure may use, with their kinds; None if not known.

    Without a measure they are those of any.
    """
    owner = config["datasets"].get(dataset["words"].get("dataset"), dataset)
    found = dict(COLUMNS)
    for entry in (owner, dataset):
        own = _own_columns(entry)
        if own is None:
            return None
        found |= own | ({"pos": TEXT} if "tagger" in entry else {})
        for table in entry.get("predictors", {}).values():
            found |= dict.fromkeys(table["columns"], ANY)
    found |= {"words_since_unscored": NUMBER} if "scored_by" in dataset else {}
    settings = dataset["measures"].get(measure, {})
    if measure is None:
        return found | dict.fromkeys(RESPONSES, NUMBER)
    return found | {value_column(dataset, settings.get("of", measure)): NUMBER}


def _own_columns(entry: dict) -> dict[str, str] | None:
    """Return the columns that a dataset's parser gives beside those of all; None if not known."""
    if entry["parser"] == "table":
        columns = entry.get("options", {}).get("columns") or {}
        mapped = {name: ANY for name, column in _mapped(columns) if column is not None}
        of_items = OF_ITEMS if is_of_items(entry) else {}
        mapped = {n: k for n, k in mapped.items() if not of_items or n not in READ_FOR_ITEMS}
        return (
            OF_TABLES | {name: COLUMNS.get(name, kind) for name, kind in mapped.items()} | of_items
        )
    return plugins.literal(configuration.PARSERS, entry["parser"], "COLUMNS")


def mapped(entry: Mapping) -> list[str]:
    """Return the names that an own table's `columns:` gives, of both files where it tells them apart."""
    found = []
    for name, column in (entry.get("options", {}).get("columns") or {}).items():
        found += list(column) if isinstance(column, Mapping) else [name]
    if is_of_items(entry):
        read = READ_FOR_ITEMS
        found = [name for name in found if name not in read] + [*OF_ITEMS, "region"]
    return found


def of_predictors(entry: Mapping) -> list[str]:
    """Return the columns that a dataset's tables of predictors add to its words."""
    return [column for table in entry.get("predictors", {}).values() for column in table["columns"]]


def is_of_items(entry: dict) -> bool:
    """Return whether a dataset is a table of items, and not of words."""
    return entry["parser"] == "table" and entry.get("options", {}).get("shape") == "items"


def value_column(dataset: dict, measure: str) -> str:
    """Return the response column of a measure: time_ms, amplitude_uv or response."""
    if measure in amplitudes(dataset):
        return AMPLITUDE
    scores = dataset.get("options", {}).get("scores") if dataset["parser"] == "table" else None
    return SCORE if measure in (scores or ()) else TIME


def amplitudes(dataset: dict) -> list[str]:
    """Return the measures of a dataset that are amplitudes, and no times."""
    if dataset["parser"] == "table":
        return list(dataset.get("options", {}).get("amplitudes") or ())
    return list(plugins.literal(configuration.PARSERS, dataset["parser"], "AMPLITUDES") or ())
