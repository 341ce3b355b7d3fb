"""Columns of a dataset's words and responses: common ones, and those that its parser declares.

A parser declares columns in the literal `COLUMNS`, which is read without importing the parser: under
`words` and `responses`, name → (kind, description with the unit). Kinds are number, text, flag and
any. A third member is the condition of an optional column: `role` (a file that the dataset must name),
`measures` (those that have it), `option` (name and value), or `named: True` (the user's table must
have a column of this name).
"""

from collections.abc import Collection, Iterator, Mapping

from readingtimes.filters import ANY, FLAG, NUMBER, TEXT
from readingtimes.measures import MEASURES
from readingtimes.response_names import AMPLITUDE, RESPONSES, SCORE, TIME
from recency import config as configuration
from recency import plugins

#: Columns of every dataset's words (contract 1).
WORDS = {"item": TEXT, "sentence": NUMBER, "position": NUMBER, "word_id": NUMBER, "word": TEXT}
#: Columns of every dataset's responses, in addition to the value.
OF_RESPONSES = {"subject": TEXT}
#: Columns of every dataset for filters, which observations do not keep.
FILTERED = {
    "span": NUMBER,
    "sentence_first": FLAG,
    "sentence_last": FLAG,
    "item_first": FLAG,
    "item_last": FLAG,
    "previous_fixated": FLAG,
    "space_after": FLAG,
}
#: Names under `columns:` that are used for reading, and are not columns of the result.
_READ = {False: ("last_position", "time_ms"), True: ("context", "critical", "continuation")}


def declared(parser: str, part: str) -> dict[str, tuple]:
    """Return the columns of `words` or `responses` that a parser declares: name → kind, description."""
    return (plugins.literal(configuration.PARSERS, parser, "COLUMNS") or {}).get(part, {})


def of_words(config: Mapping, dataset: Mapping, header: Collection | None = None) -> dict[str, str]:
    """Return the columns of a dataset's words: name → kind.

    Parameters
    ----------
    config : mapping
        The config, for the dataset whose words this one shares.
    dataset : mapping
        An entry of `datasets`.
    header : collection of str, optional
        The columns of the user's table; None if unknown.
    """
    kinds = dict(WORDS)
    for entry in (owner_of_words(config, dataset), dataset):
        kinds |= _columns_of_part(entry, "words", header)
        kinds |= {"pos": TEXT} if "tagger" in entry else {}
        kinds |= dict.fromkeys(of_predictors(entry), ANY)
    return kinds


def owner_of_words(config: Mapping, dataset: Mapping) -> Mapping:
    """Return the entry of the dataset that provides a dataset's words."""
    return config["datasets"].get(dataset["words"].get("dataset"), dataset)


def of_responses(
    config: Mapping, dataset: Mapping, measure: str | None, header: Collection | None = None
) -> dict[str, str]:
    """Return name → kind for the columns of a dataset's responses, for one measure or any."""
    settings = dataset["measures"].get(measure, {})
    measure = settings.get("of", measure)
    if measure in MEASURES and MEASURES[measure].of:
        measure = MEASURES[measure].of[0]
    given = _columns_of_part(dataset, "responses", header, measure)
    values = RESPONSES if measure is None else [value_column(dataset, measure)]
    return OF_RESPONSES | given | dict.fromkeys(values, NUMBER)


def of_filters(config: Mapping, dataset: Mapping, measure: str | None) -> dict[str, str]:
    """Return name → kind for the columns that filters may use, for one measure or any."""
    unscored = {"words_since_unscored": NUMBER} if "scored_by" in dataset else {}
    kinds = of_words(config, dataset) | of_responses(config, dataset, measure)
    return FILTERED | kinds | unscored


def _columns_of_part(
    entry: Mapping, part: str, header: Collection | None, measure: str | None = None
) -> dict[str, str]:
    """Return the columns beyond the contract that a parser provides for words or responses."""
    about = declared(entry["parser"], part)
    kinds = WORDS | OF_RESPONSES | FILTERED | {name: kind for name, (kind, *_) in about.items()}
    columns = [
        name
        for name, (_, _, *condition) in about.items()
        if not condition or _is_there(name, condition[0], entry, header, measure)
    ]
    if entry["parser"] == "table":
        read = (*_READ[_has_row_per_item(entry)], measure)
        columns += [name for name, _ in _mapped_columns(entry, part) if name not in read]
    return {name: kinds.get(name, ANY) for name in columns}


def _is_there(
    name: str, condition: Mapping, entry: Mapping, header: Collection | None, measure: str | None
) -> bool:
    """Return whether a dataset fulfils the condition of a declared column."""
    if condition.get("named"):
        return header is None or name in header
    if measures := condition.get("measures"):
        return measure is None or measure in measures
    if option := condition.get("option"):
        return entry.get("options", {}).get(option[0]) == option[1]
    return condition["role"] in (*entry["words"], *entry["responses"])


def _mapped_columns(entry: Mapping, part: str) -> Iterator[tuple[str, object]]:
    """Yield name and column of a table's `columns:`, common ones and those of a part."""
    for name, column in (entry.get("options", {}).get("columns") or {}).items():
        if isinstance(column, Mapping):
            yield from ((n, c) for n, c in column.items() if c is not None and name == part)
        elif column is not None:
            yield name, column


def mapped(entry: Mapping) -> dict[str, object]:
    """Return name → column for a table's `columns:`."""
    return {**dict(_mapped_columns(entry, "words")), **dict(_mapped_columns(entry, "responses"))}


def of_predictors(entry: Mapping) -> list[str]:
    """Return the columns that tables of predictors add to a dataset's words."""
    return [column for table in entry.get("predictors", {}).values() for column in table["columns"]]


def is_of_items(entry: Mapping) -> bool:
    """Return whether a dataset is of an experiment's items: texts are versions of stimuli."""
    table = entry["parser"] == "table"
    return table and (_has_row_per_item(entry) or "stimulus" in mapped(entry))


def _has_row_per_item(entry: Mapping) -> bool:
    return entry.get("options", {}).get("shape") == "items"


def value_column(dataset: Mapping, measure: str) -> str:
    """Return the response column of a measure: time_ms, amplitude_uv or response."""
    if measure in amplitudes(dataset):
        return AMPLITUDE
    scores = dataset.get("options", {}).get("scores") if dataset["parser"] == "table" else None
    return SCORE if measure in (scores or ()) else TIME


def amplitudes(dataset: Mapping) -> list[str]:
    """Return the measures of a dataset that are amplitudes."""
    if dataset["parser"] == "table":
        return list(dataset.get("options", {}).get("amplitudes") or ())
    return list(plugins.literal(configuration.PARSERS, dataset["parser"], "AMPLITUDES") or ())
