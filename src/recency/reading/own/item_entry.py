"""Draft an entry of `datasets:` for an experiment's table, test it, and format it as YAML."""

import contextlib
import io
import re
from collections.abc import Collection

import pandas as pd

from recency.errors import InputError
from recency.reading.contracts import check_responses, check_words, response_column
from recency.reading.own.begin import Described, Entry, entry_name, plain, style_options
from recency.reading.own.item_roles import ItemRoles, recognise, shared_columns
from recency.reading.own.item_texts import is_structure
from recency.reading.own.roles import snake
from recency.reading.parsers import table as parser
from recency.reading.response_names import TIME

_MOST = 24
_SHARED = ("columns", "marker", "shape", "encoding", "decimal", "join")


def entry(
    rows: Described, texts: Described | None = None, taken: Collection[str] = ()
) -> Entry | None:
    """Return the tested entry of an experiment; None if the table has another shape.

    Parameters
    ----------
    rows : Described
        The table of the responses.
    texts : Described, optional
        That of the texts, if it is another.
    taken : collection of str
        Names of datasets that there are.
    """
    roles = recognise(texts or rows, rows)
    if roles is None:
        return None
    options = _options(roles, rows, texts)
    means = "subject" not in roles.columns
    result = Entry(entry_name(rows.path, taken), options, list(roles.measures), means)
    result.problem = _tried(result, rows, texts or rows)
    return result


def _options(roles: ItemRoles, rows: Described, texts: Described | None) -> dict:
    """Return the options of the parser."""
    of_texts = roles.columns if texts is None else {
        n: c for n, c in roles.columns.items() if n != "subject"
    }  # fmt: skip
    keys = {} if texts is None else shared_columns(roles, rows, texts)
    responses = keys | {n: c for n, c in roles.columns.items() if n == "subject"} | roles.measures
    used = roles.used()
    for column in keys.values():
        used |= {column} if isinstance(column, str) else set(column)
    kept = _further(rows, used)
    if texts is None:
        columns = roles.columns | roles.measures | kept
    else:
        columns = {"words": of_texts | _further(texts, roles.used()), "responses": responses | kept}
    options: dict = {"shape": "items", "columns": columns}
    options |= {} if roles.marker is None else {"marker": roles.marker}
    if match := re.search(
        r"(?:^|_)([01])_?(?:idx|index|based)|zero", snake(str(roles.columns.get("position")))
    ):
        options["join"] = {"position": f"from {match[1] or 0}"}
    for key in ("scores", "amplitudes", "regions"):
        options |= {key: getattr(roles, key)} if getattr(roles, key) else {}
    numbers = [int(region[-1]) for region in roles.regions.values()]
    options |= {"spillover": max(numbers)} if max(numbers, default=0) > 2 else {}
    styles = style_options(rows, texts)
    times = set(roles.measures) - {*roles.scores, *roles.amplitudes}
    by_name = {column.name: column for column in rows.columns}
    if any(by_name[roles.measures[m]].middle < 40 for m in times):
        styles["unit"] = "s"
    return options | styles


def _further(table: Described, used: set) -> dict[str, str]:
    """Return the further columns that are kept, by name."""
    further: dict[str, str] = {}
    for column in table.columns:
        many = column.kind == "text" and column.distinct > max(50, len(table.table.frame) / 20)
        if column.name in used or column.distinct < 2 or many or column.name.startswith("unnamed_"):
            continue
        name = snake(column.name) or "column"
        name = f"own_{name}" if is_structure(name) or name[0].isdigit() else name
        if name not in further and len(further) < _MOST:
            further[name] = column.name
    return further


def _tried(entry: Entry, rows: Described, texts: Described) -> str:
    """Parse with the options of an entry; return the problem, or ""."""
    of_words = {k: v for k, v in entry.options.items() if k in (*_SHARED, "spillover")}
    of_rows = {k: v for k, v in entry.options.items() if k != "spillover"}
    lines: list[str] = []
    try:
        with contextlib.redirect_stderr(io.StringIO()) as messages:
            words = parser.words({"table": texts.path}, measures=entry.measures, **of_words)
            words = check_words(words, "words")
            for measure in entry.measures:
                responses = parser.responses({"table": rows.path}, words, measure, **of_rows)
                responses = check_responses(responses, words, measure)
                lines = lines or regions_as_read(words, responses, measure)
    except InputError as error:
        return " ".join(str(error).split())
    stimuli = words.stimulus.nunique()
    conditions = words.condition.drop_duplicates().tolist() if "condition" in words else []
    shown = f" × {len(conditions)} conditions ({', '.join(conditions[:6])})" if conditions else ""
    readers = "means" if entry.means else f"{responses.subject.nunique():,} subjects"
    texts_read = f"{words['item'].nunique():,} texts, {len(words):,} words"
    entry.notes = [
        f"read as an experiment: {stimuli:,} stimuli{shown}, {texts_read}; {readers}",
        *lines,
        *dict.fromkeys(messages.getvalue().splitlines()),
    ]
    return ""


def regions_as_read(words: pd.DataFrame, responses: pd.DataFrame, measure: str) -> list[str]:
    """Describe three responses: the first, the middle and the last one.

    Parameters
    ----------
    words, responses : DataFrame
        Contracts 1 and 2.
    measure : str
        What was measured.
    """
    value = response_column(responses, measure)
    unit = {TIME: " ms", "amplitude_uv": " µV"}.get(value, "")
    lines = []
    for at in dict.fromkeys([0, len(responses) // 2, len(responses) - 1]):
        row = responses.iloc[at]
        first, span = int(row.word_id), int(row.get("span", 1))
        text = words[words["item"] == words["item"].iloc[first]]
        before = " ".join(text.word[text.word_id < first].tail(3))
        region = " ".join(words.word.iloc[first : first + span])
        dots = "… " if (text.word_id < first).sum() > 3 else ""
        reader = "" if row.subject == "mean" else f", subject {row.subject}"
        lines.append(
            f"  {dots}{before} [{region}] ({words.region.iloc[first]}) of text {text['item'].iloc[0]!r}"
            f"{reader}: {measure} {row[value]:g}{unit}"
        )
    return ["three rows as read:", *lines]


def written(entry: Entry, files: tuple[str, str]) -> str:
    """Return an entry as YAML.

    Parameters
    ----------
    entry : Entry
        As `entry` returns it.
    files : tuple of str
        The files of the texts and of the responses.
    """
    options = dict(entry.options)
    columns = options.pop("columns")
    texts, rows = files
    lines = [
        "datasets:",
        f"  {entry.name}:",
        f"    label: {plain(entry.name)}",
        "    parser: table",
    ]
    if entry.problem:
        lines.insert(0, f"# To be corrected: {entry.problem}")
    lines += ["    options:", f"      shape: {options.pop('shape')}"]
    lines.append("      columns:")
    for name, column in columns.items():
        comment = _COMMENTS.get(name, "")
        lines.append(f"        {plain(name)}: {plain(column)}{comment}")
    comments = {"marker": "  # around the critical region", "scores": "  # without a unit"}
    lines += [
        f"      {key}: {plain(value)}{comments.get(key, '')}" for key, value in options.items()
    ]
    shared = f"&{entry.name} " if texts == rows else ""
    lines.append(f"    words: {{table: {shared}{{local: {plain(texts)}}}}}")
    reference = f"*{entry.name}" if shared else f"{{local: {plain(rows)}}}"
    lines.append(f"    responses: {{table: {reference}}}")
    unlike = {*entry.options.get("scores", ()), *entry.options.get("amplitudes", ())}
    timed = [] if entry.means else [m for m in entry.measures if m not in unlike]
    listed = ", ".join(
        f"{m}: {{filters: [{'times' if m in timed else ''}]}}" for m in entry.measures
    )
    lines.append(f"    measures: {{{listed}}}")
    if timed:
        lines.append('    filters: {times: "100 < time_ms < 3000"}')
    if entry.means:
        lines.append("    partitioned: false  # one response per text: all are fitted")
    return "\n".join(lines) + "\n"


_COMMENTS = {
    "stimulus": "  # of formulas: (1 | stimulus); `item` is a stimulus in a condition",
    "critical": "  # the words that responses are to",
}
