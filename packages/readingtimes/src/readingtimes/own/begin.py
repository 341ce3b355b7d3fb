"""Draft an entry of `datasets:` for a user's table, by guesses that are tested."""

from __future__ import annotations

import contextlib
import io
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import pandas as pd

from readingtimes import languages, text_languages
from readingtimes.contracts import check_responses, check_words
from readingtimes.errors import InputError
from readingtimes.formats import xlsx
from readingtimes.formats.anything import Style
from readingtimes.own import columns, evidence, roles, selection, versions
from readingtimes.own.columns import MISSING, Column
from readingtimes.own.roles import EYES, Roles
from readingtimes.parsers import table as parser
from readingtimes.response_names import RESPONSES
from readingtimes.sentences import FINAL
from readingtimes.strict_tables import Table

_PLAIN = re.compile(r"[A-Za-z_/][\w ./-]*[\w.]|[A-Za-z_]")
_TRIED = 24  # maximum number of readings
_COUNTS = 0.8  # least share of texts, and of rows, in which a column counts words
_OTHER_WORDS = 0.5  # most words in common, as a share, of texts that have one label in two lists
_DENSE = 1.5  # largest number of a count that lacks words, per number that it has
_OF_TEXTS = ("item", "sentence", "position")
OF_BOTH = (
    "columns",
    "encoding",
    "decimal",
    "thousands",
    "percent_encoded",
    "missing",
    "trials",
    "rows",
)
"""Options of words and responses."""
_FEW = 20  # maximum number of lists or tasks of a corpus
_YAML_WORDS = ("true", "false", "yes", "no", "on", "off", "null", "y", "n")


@dataclass
class Described:
    """A table and the likely roles of its columns."""

    path: Path
    table: Table
    style: Style
    columns: list[Column]
    roles: Roles
    notes: list[str] = field(default_factory=list)
    rows: dict[str, list[str]] = field(
        default_factory=dict
    )  # column → labels of rows that are read
    picks: dict[str, Mapping[str, str]] = field(default_factory=dict)  # column that is made → how


@dataclass
class Entry:
    """A dataset's entry: the parser's options, and the result of testing them."""

    name: str
    options: dict
    measures: list[str]
    means: bool
    notes: list[str] = field(default_factory=list)
    against: list[str] = field(default_factory=list)  # the evidence; with any, it is not written
    weight: int = 0  # of the evidence
    is_read: bool = True  # by the parser
    has_words: bool = True  # which may be read where the times are not
    language: str = ""  # ISO 639 code, except for English
    second: Entry | None = None  # the next best reading, if there is evidence against both


def entry_name(path: Path, taken: Collection[str]) -> str:
    """Return an unused name for a file's entry: the file name without extensions."""
    stem = re.sub(r"(\.\w{1,7})+$", "", path.name)
    name = re.sub(r"[^A-Za-z0-9]+", "_", stem).strip("_") or "mine"
    return f"my_{name}" if name in taken else name


def described(path: Path) -> Described:
    """Read a table and guess its columns."""
    table, style = columns.read_profile(path)
    table_columns = columns.columns(table, style)
    guessed = roles.guess(table_columns, len(table.frame))
    chosen: dict[str, list[str]] = {}
    notes = []
    # Of practice, then of questions.
    while rows := selection.rows_of_words(table, table_columns, guessed):
        (name,) = rows
        out = ~table[name].isin(rows[name])
        others = ", ".join(repr(value) for value in table[name][out].unique()[:5])
        notes.append(f"{out.sum():,} rows whose {name} is {others} are left out: no words to read")
        table, chosen = Table(table.path, table.frame[~out]), chosen | rows
        table_columns = columns.columns(table, style)
        guessed = roles.guess(table_columns, len(table.frame))
    table, picks = selection.with_correct_words(table, table_columns, guessed)
    if picks:
        table_columns = columns.columns(table, style)
        guessed = roles.guess(table_columns, len(table.frame))
        guessed.of |= dict.fromkeys(["word"] * len(picks), next(iter(picks), ""))
    notes += roles.refine(guessed, table_columns, table.frame)
    notes += _count_words(guessed, table_columns, table.frame)
    return Described(path, table, style, table_columns, guessed, notes, chosen, picks)


def _count_words(guessed: Roles, table_columns: list[Column], frame: pd.DataFrame) -> list[str]:
    """Take a column of another name that counts the words of texts or sentences as the position.

    Without it the order of rows would be that of words, and a word whose rows are lost would go unseen.
    """
    units = [guessed.of[role] for role in ("item", "sentence") if role in guessed.of]
    if not units or guessed.positions:
        return []
    reader = [guessed.of["subject"]] if "subject" in guessed.of else []
    word = guessed.of.get("word")
    for name in roles.free_whole_numbers(table_columns, guessed):
        for unit in ([units[0]], units)[: len(units)]:
            rows = frame[[*reader, *unit]].assign(
                number=pd.to_numeric(frame[name], errors="coerce")
            )
            spans = rows.groupby(unit, sort=False).number.agg(["min", "max", "nunique"])
            is_count = (spans["min"] <= 1) & (spans["max"] - spans["min"] + 1 == spans["nunique"])
            counts = is_count.mean() > _COUNTS
            if not counts and word is not None:  # or it did before words were lost
                same = rows.assign(word=frame[word]).groupby([*unit, "number"], sort=False).word
                dense = spans["max"] <= _DENSE * spans["nunique"]
                counts = min(dense.mean(), (same.nunique() == 1).mean()) > _COUNTS
            if counts and rows.duplicated().mean() < 1 - _COUNTS:
                guessed.of["position"], guessed.positions = name, [name]
                guessed.others = {n: c for n, c in guessed.others.items() if c != name}
                return [f"{name} counts the words of each {' and '.join(unit)}: taken as position"]
    return []


def entry(
    times: Described,
    words: Described | None = None,
    dataset: str | None = None,
    known: pd.DataFrame | None = None,
    taken: Collection[str] = (),
) -> Entry:
    """Return the entry of a table of times; words are in it, in another table, or another dataset's.

    Readings are tried in the likeliest order, and the first that nothing speaks `against` is
    returned; if there is none, the two that least does, the better one first.

    Parameters
    ----------
    times, words : Described
        The table, and that of the words if it is another.
    dataset : str, optional
        The dataset that has the words.
    known : DataFrame, optional
        Its words (contract 1), if they are here: the join is tried.
    taken : collection of str
        Names of datasets that there are.

    Raises
    ------
    InputError
        If no column can be times, or words.
    """
    if not times.roles.measures:
        for column in times.columns:
            if roles.measure_of_name(column.name) is not None and column.distinct > 2:
                raise InputError(
                    f"{times.path}: {column.name} is named like a time, but its values, such as "
                    f"{column.examples[0]}, are no times: those are numbers of ms or s, without a unit in "
                    "the cell, and no microseconds, ticks, clock times, logarithms, differences or z-scores"
                )
            kinds = times.table[column.name].unique() if column.distinct <= _FEW else ()
            if len(kinds) > 1 and all(roles.measure_of_name(kind) for kind in kinds):
                raise InputError(
                    f"{times.path}: {column.name} names measures ({', '.join(kinds)}) whose times are in "
                    f"one column: give each a column of its own, or read one by `rows: "
                    f"{{{column.name}: [{kinds[0]}]}}` and its name under `columns:`"
                )
        others = ", ".join(xlsx.sheets(times.path)[1:])
        sheets = (
            f"the first sheet alone is read, not {others}: move that with the times to the front; "
            if others
            else ""
        )
        used = {*times.roles.of.values()}
        free = [c.name for c in times.columns if c.name not in used and roles.is_time(c)]
        named = f"if {' or '.join(free[:3])} is that, name it rt; " if free else ""
        raise InputError(
            f"{times.path}: no column looks like reading times in ms, or like surprisals; {sheets}{named}if it "
            f"has words alone, name the file of the times, too: describe TIMES --words {times.path}"
        )
    texts = words or times
    if dataset is None and "word" not in texts.roles.of:
        raise InputError(
            f"{texts.path}: no column looks like words; name what has them: --words FILE, or --words "
            "and a dataset's name, as natural_stories"
        )
    name = entry_name(times.path, taken)
    means = "subject" not in times.roles.of and not times.roles.wide
    tried: list[Entry] = []
    code, cells = _language(texts) if dataset is None else "", _odd_cells(times)
    for options in islice(_choices(times, words, dataset), _TRIED):
        result = Entry(name, options, list(times.roles.measures), means, language=code)
        given_up = _given_up(options, times, words, dataset)
        found: list[str] = []
        if dataset is None:
            found, result.is_read = _try_entry(result, times.path, texts.path)
        elif known is not None:
            found, result.is_read = _try_entry(result, times.path, None, known)
        result.against = [*cells, *given_up, *found]
        result.weight = len(cells) + len(found) + 4 * len(given_up)
        result.weight += 2 * (not result.is_read) + (not result.has_words)
        if not result.against:
            return result
        tried.append(result)
    tried.sort(key=lambda each: each.weight)  # stable: the likeliest first
    best = tried[0]
    others = [each for each in tried if each.against != best.against]
    best.second = next((each for each in others if each.is_read), (others or [None])[0])
    return best


def _odd_cells(times: Described) -> list[str]:
    """Return the cells of columns of numbers with a role that are none."""
    return evidence.of_cells(times, [*times.roles.of.values(), *times.roles.measures.values()])


def _given_up(
    options: dict, times: Described, words: Described | None, dataset: str | None
) -> list[str]:
    """Return the recognised columns that a reading does not use."""
    mapped = options["columns"]
    needed = () if times.roles.wide else ("subject",)
    if words is not None:
        of_words = evidence.of_unused(words, mapped["words"], _OF_TEXTS)
        return of_words + evidence.of_unused(times, mapped["responses"], needed)
    if dataset is None:
        needed = (*needed, *_OF_TEXTS)
    return evidence.of_unused(times, mapped, needed)


def _language(texts: Described) -> str:
    """Return the code of the likely language of a table's words, "" if English or unknown."""
    code = text_languages.code_of(texts.table[texts.roles.of["word"]].head(5000))
    return "" if code in (None, languages.DEFAULT) else code


def written(entry: Entry, files: tuple[str, str], dataset: str | None = None) -> str:
    """Format an entry as YAML; `files` are those of the words and of the times."""
    options = dict(entry.options)
    columns = options.pop("columns")
    words, times = files
    name = entry.name
    lines = ["datasets:", f"  {name}:", f"    label: {plain(name)}", "    parser: table"]
    if entry.language:
        lines.insert(3, f"    language: {entry.language}")
    lines += ["    options:", "      columns:"]
    for name, column in columns.items():
        if isinstance(column, dict):
            inside = ", ".join(f"{plain(n)}: {plain(c)}" for n, c in column.items())
            lines.append(f"        {name}: {{{inside}}}")
        else:
            lines.append(f"        {plain(name)}: {plain(column)}{_comment(name, column, entry)}")
    lines += [
        f"      {key}: {plain(value)}{_OPTION.get(key, '')}" for key, value in options.items()
    ]
    if dataset is not None:
        lines.append(f"    words: {{dataset: {plain(dataset)}}}")
    else:
        lines.append(f"    words: {{table: {{local: {plain(words)}}}}}")
    lines.append(f"    responses: {{table: {{local: {plain(times)}}}}}")
    steps = ["times"] if entry.means else ["times", "edges"]
    listed = ", ".join(f"{m}: {{filters: [{', '.join(steps)}]}}" for m in entry.measures)
    lines.append(f"    measures: {{{listed}}}")
    eyes = any(measure in EYES for measure in entry.measures)
    kept = "time_ms > 0" if eyes or entry.means else evidence.FILTER
    edges = "" if entry.means else ', edges: "not sentence_first and not sentence_last"'
    lines.append(f'    filters: {{times: "{kept}"{edges}}}')
    if entry.means:
        lines.append("    partitioned: false  # means over readers: all fitted, compared by AIC")
    return "\n".join(lines) + "\n"


def readings(entry: Entry, write: Callable[[Entry], str]) -> list[str]:
    """Return lines on a reading that something speaks against, and on the next best.

    Parameters
    ----------
    entry : Entry
        The best reading, with `against` and `second`.
    write : callable
        Formats an entry as YAML.
    """
    first = write(entry).splitlines()
    lines = ["reading 1:", *(f"  against: {each}" for each in entry.against)]
    lines += [f"    {line}" for line in first]
    if entry.second is not None:
        other = [line.strip() for line in write(entry.second).splitlines() if line not in first]
        lines += ["reading 2, with other lines:", *(f"    {line}" for line in other)]
        lines += [f"  against: {each}" for each in entry.second.against]
    return lines


_OPTION = {
    "sentences": "  # where sentences end: by punctuation; or item: each text is one",
    "skipped": "  # a missing time is of a word that was not fixated",
    "unit": "  # of the times",
    "percent_encoded": "  # a comma is written %2C",
    "trials": "  # a row is a trial, with lists of words and times",
    "phrases": "  # a row is of several words, and its time of all of them",
}


def _comment(name: str, column: str | None, entry: Entry) -> str:
    if name == "item" and column is None:
        return "  # one text; or the column that tells texts apart"
    if name == "item" and column == entry.options["columns"].get("sentence"):
        return "  # sentences shown alone; if they make texts, the column of these"
    if name == "stimulus":
        return "  # of formulas: (1 | stimulus); partitioned and drawn with all its conditions"
    return "  # rows are in reading order" if name == "position" and column is None else ""


def _choices(times: Described, words: Described | None, dataset: str | None) -> Iterator[dict]:
    """Yield options to test, the most likely first."""
    texts, base = words or times, _style(times, words)
    if dataset is not None:
        yield _options(times, words, dataset, {}, None, base)
        return
    of = dict(texts.roles.of)
    sentence, item = of.get("sentence"), of.get("item")
    units: list[tuple] = []
    found = versions.find(texts) if words is None else None
    own = found.columns if found is not None else None
    if own is not None:
        ends = [None] if item and sentence else _rules(texts, item or sentence)
        units += [(own, sentence if item else None, rule) for rule in ends]
    if item and sentence:
        units.append((item, sentence, None))
    if item:
        units += [(item, None, rule) for rule in _rules(texts, item)]
    if sentence:
        units.append((sentence, sentence, None))
    for cut in _cuts(texts) if item or sentence else ():
        both = [cut, item or sentence]
        units.append((both, sentence if item else both, None) if sentence else (both, None, "item"))
    units.append((None, None, "punctuation"))
    guesses = [(position, unit) for position in [*texts.roles.positions, None] for unit in units]
    if not item and not sentence:  # columns with unusual names, chosen by their values
        by_value = roles.positions_by_value(texts.columns, texts.roles)
        counts = [*texts.roles.positions, *by_value, None]
        guesses += [
            (n, (cut, None, rule))
            for cut in _cuts(texts)
            for n in counts
            if cut != n
            for rule in _rules(texts, cut)
        ]
    for position, (item, sentence, rule) in guesses:
        columns = {"sentence": sentence, "position": position, "word": of["word"]}
        style = base
        if found is not None and item is own:
            columns = own | columns
            if found.rows:
                style = base | {"rows": base.get("rows", {}) | found.rows}
        else:
            columns = {"item": item} | columns
        yield _options(times, words, dataset, columns, rule, style)


def words_of(texts: Described) -> pd.DataFrame | None:
    """Return the words of a table of words, None if no guess reads them."""
    for options in _choices(texts, None, None):
        kept = {k: v for k, v in options.items() if k not in ("unit", "eye_tracking", "skipped")}
        with contextlib.suppress(InputError), contextlib.redirect_stderr(io.StringIO()):
            return check_words(parser.words({"table": texts.path}, measures=(), **kept), "words")
    return None


def _cuts(texts: Described) -> list[str]:
    """Return columns that may distinguish texts with the same number, such as a list or task."""
    used = {*texts.roles.of.values(), *texts.roles.measures.values()}
    names = [
        column.name
        for column in texts.columns
        if column.name not in used
        and not column.missing
        and column.kind in ("text", "whole number")
        and 2 <= column.distinct <= _FEW
    ]
    of = texts.roles.of
    if "subject" in of:
        frame = texts.table.frame
        values = frame[[of["subject"], *names]].drop_duplicates().groupby(of["subject"]).nunique()
        varied = [name for name in names if (values[name] > 1).any()]
        lists = [n for n in names if n not in varied and _has_texts_of_its_own(frame, of, n)]
        names = [*varied, *lists]  # another column of the reader, such as age, tells no texts apart
    return names[:4]


def _has_texts_of_its_own(frame: pd.DataFrame, of: dict[str, str], name: str) -> bool:
    """Return whether most labels of texts have other words where a column has another value."""
    label = of.get("item") or of.get("sentence")
    if label is None or "word" not in of:
        return False
    texts = frame.groupby([label, name], sort=False)[of["word"]].agg(frozenset)
    labels = [of_label for _, of_label in texts.groupby(level=0)]
    other = [
        len(frozenset.intersection(*of_label)) < _OTHER_WORDS * min(map(len, of_label))
        for of_label in labels
        if len(of_label) > 1
    ]
    return sum(other) > len(labels) / 2


def _options(times, words, dataset, columns: dict, rule: str | None, base: dict) -> dict:
    """Merge options of both files, with separate mappings where names differ."""
    of = times.roles.of
    columns = {
        n: (words or times).picks.get(c, c) if isinstance(c, str) else c for n, c in columns.items()
    }
    if rule is not None:
        columns = {n: c for n, c in columns.items() if n != "sentence"}
        if "sentence" in (column.name for column in (words or times).columns):
            columns["sentence"] = None
    own_columns = {name: of[name] for name in ("subject",) if name in of}
    if times.roles.wide or not own_columns:
        own_columns = {} if "subject" not in [c.name for c in times.columns] else {"subject": None}
    own_columns |= times.roles.measures
    mine = {"position": None} | {
        n: times.picks.get(of[n], of[n])
        for n in ("item", "sentence", "position", "word")
        if n in of
    }
    if dataset is not None:
        return {"columns": _trim_columns(mine | own_columns) | times.roles.others} | base
    if words is None:
        extra = {"space_after": of["space_after"]} if "space_after" in of else {}
        others = {
            f"own_{n}" * (n in columns) or n: c
            for n, c in times.roles.others.items()
            if c not in columns.values()
        }
        mapped = _trim_columns({**columns, **extra, **own_columns}) | others
        return {"columns": mapped} | _rule(rule) | base
    theirs = {n: c for n, c in columns.items() if c is not None or n != "word"}
    if not {"word", "position"} & of.keys() and (ids := _ids(times, words)) is not None:
        theirs["unique_id"] = ids[1]
        mine = dict.fromkeys(("item", "sentence", "position", "word")) | {"unique_id": ids[0]}
    return (
        {
            "columns": {
                "words": theirs | words.roles.others,
                "responses": mine | own_columns | times.roles.others,
            }
        }
        | _rule(rule)
        | base
    )


def _ids(times: Described, words: Described) -> tuple[str, str] | None:
    """Return the columns of times and of words that have the same ids, one a word; None without any."""
    for column in words.columns:
        ids = words.table[column.name]
        if column.missing or column.distinct < len(ids):
            continue
        for other in (c for c in times.columns if c.distinct > column.distinct / 2):
            if other.kind == column.kind and times.table[other.name].isin(ids).all():
                return other.name, column.name
    return None


def _rule(rule: str | None) -> dict:
    return {} if rule is None else {"sentences": rule}


def _trim_columns(columns: dict) -> dict:
    """Omit columns mapped to their own name, and a missing position."""
    return {
        n: c
        for n, c in columns.items()
        if c is not None or n in ("item", "sentence", "position", "subject")
    }


def _rules(texts: Described, item: str) -> list[str]:
    """Return the option `sentences`, by the number of sentence ends within texts."""
    frame = _in_reading_order(texts, item)
    words, items = frame[texts.roles.of["word"]], frame[item]
    last = items != items.shift(-1)
    inside = sum(bool(FINAL.search(word)) for word in words[~last])
    within = ["punctuation", "item"]
    return within if inside > 0.2 * last.sum() else within[::-1]


def _in_reading_order(texts: Described, item: str) -> pd.DataFrame:
    """Return a table sorted by reader, text and position, as far as it has them."""
    frame, of = texts.table.frame, texts.roles.of
    if "position" in of:  # a row a word is enough
        names = [item, *([of["sentence"]] if "sentence" in of else []), of["position"]]
        frame = frame.drop_duplicates(list(dict.fromkeys(names)))
    keys = {"subject": frame[of["subject"]]} if "subject" in of else {}
    keys["item"] = frame[item]
    for name in filter(None, (of.get("sentence"), of.get("position"))):
        number = pd.to_numeric(frame[name], errors="coerce")
        keys[name] = number if number.notna().any() else pd.factorize(frame[name])[0]
    return frame.loc[pd.DataFrame(keys).sort_values(list(keys), kind="stable").index]


def style_options(times: Described, words: Described | None) -> dict:
    """Return the options of encoding, marks in numbers and missing values if they are not the defaults.

    Parameters
    ----------
    times, words : Described
        The table, and that of the words if it is another.
    """
    styles: dict = {}
    for described in filter(None, (words, times)):
        if described.style.encoding != "utf-8":
            styles["encoding"] = described.style.encoding
        if described.style.decimal != ".":
            styles["decimal"] = described.style.decimal
        if described.style.thousands:
            styles["thousands"] = described.style.thousands
        if described.style.percent_encoded:
            styles["percent_encoded"] = True
        if described.style.trials:
            styles["trials"] = True
        if missing := {*styles.get("missing", ()), *_missing(described)}:
            styles["missing"] = sorted(missing)
    return styles


def _missing(table: Described) -> set[str]:
    """Return the spellings of a missing value among numbers if there are unusual ones."""
    numeric = [column for column in table.columns if column.numeric]
    found = {spelling for column in numeric for spelling in column.spellings}
    if not found:
        return set()
    usual = {
        value
        for column in numeric
        for value in MISSING
        if (table.table[column.name] == value).any()
    }
    return found | usual - {""}


def _style(times: Described, words: Described | None) -> dict:
    """Return the reading options of the files."""
    styles = style_options(times, words)
    if times.rows or (words and words.rows):
        styles["rows"] = (
            times.rows if words is None else {"responses": times.rows, "words": words.rows}
        )
    texts = words or times
    if (
        "word" in texts.roles.of
        and texts.table[texts.roles.of["word"]].str.contains(" ").mean() > 0.05
    ):
        styles["phrases"] = True
    if times.roles.seconds:
        styles["unit"] = "s"
    by = {column.name: column for column in times.columns}
    measures = times.roles.measures.items()
    eyes = [by[column] for name, column in measures if name in EYES and column in by]
    if eyes and "subject" in times.roles.of:
        styles["eye_tracking"] = True
        if all(c.missing and not c.zeros for c in eyes):
            styles["skipped"] = True
    return styles


def _try_entry(
    entry: Entry, times: Path, words: Path | None, known: pd.DataFrame | None = None
) -> tuple[list[str], bool]:
    """Parse with the options of an entry; return what speaks against it, and whether it is read."""
    text = {k: v for k, v in entry.options.items() if k in (*OF_BOTH, "sentences", "phrases")}
    kept = {k: v for k, v in entry.options.items() if k not in ("sentences", "phrases")}
    entry.has_words = known is not None
    try:
        with contextlib.redirect_stderr(io.StringIO()) as messages:
            if known is None:
                texts = parser.words({"table": words}, measures=entry.measures, **text)
                texts = check_words(texts, "words")
                entry.has_words = True
            else:
                texts = known
            of_measures = {}
            for measure in entry.measures:
                of_measures[measure] = parser.responses({"table": times}, texts, measure, **kept)
                check_responses(of_measures[measure], texts, measure)
    except InputError as error:
        return [" ".join(str(error).split())], False
    against: list[str] = []
    intended: list[str] = []
    if known is None:
        columns = entry.options["columns"]
        numbered = bool(columns.get("words", columns).get("position"))
        against, intended = evidence.of_words(texts, numbered)
    responses = of_measures[entry.measures[0]]
    for number, (measure, each) in enumerate(of_measures.items()):
        found, missing = evidence.of_responses(texts, each, entry.name, measure)
        intended += [] if number else missing
        against += [f"{measure}: {text}" for text in found] if len(of_measures) > 1 else found
        if found:
            break
    entry.notes = list(dict.fromkeys(messages.getvalue().splitlines()))
    entry.notes.insert(
        0,
        f"read as: {len(texts):,} words, {texts.sentence.nunique():,} sentences, "
        f"{texts['item'].nunique():,} texts; {responses.subject.nunique():,} "
        f"{'means of words' if entry.means else 'subjects'}".replace("1 means", "means"),
    )
    columns = entry.options["columns"]
    if known is None and {"stimulus", "condition"} <= {*texts}:
        levels = texts["condition"].drop_duplicates().astype(str).tolist()
        entry.notes[0] += f"; {texts['stimulus'].nunique()} stimuli × {len(levels)} conditions "
        entry.notes[0] += f"({', '.join(levels[:6])})"
        if left_out := entry.options.get("rows"):
            entry.notes.append(
                f"fillers and practice are left out by `rows` ({', '.join(left_out)})"
            )
    elif isinstance(texts_of := columns.get("words", columns).get("item"), list):
        entry.notes.append(
            f"texts are told by {' and '.join(texts_of)}; if these are versions of one item, write, as "
            f"further columns, stimulus: {texts_of[-1]} and condition: {texts_of[0]}"
        )
    entry.notes += intended
    entry.notes += rows_as_read(texts, responses, entry.measures[0])
    return against, True


def rows_as_read(words: pd.DataFrame, values: pd.DataFrame, what: str) -> list[str]:
    """Describe three rows, from the beginning, middle and end of the table."""
    column = next(c for c in (*RESPONSES, "surprisal_bits") if c in values)
    unit = {"time_ms": "ms", "amplitude_uv": "µV", "surprisal_bits": "bits"}.get(column, "")
    given = values[values[column].notna()]
    lines = []
    for at in dict.fromkeys([0, len(given) // 2, len(given) - 1]):
        row = given.iloc[at]
        word = words.iloc[int(row.word_id)]
        reader = f", subject {row.subject}" if "subject" in given else ""
        lines.append(
            f"  {word.word!r}, word {word.position} of sentence {word.sentence} (text {word['item']})"
            f"{reader}: {what} {row[column]:g} {unit}"
        )
    return ["three rows as read:", *lines]


def plain(value: object) -> str:
    """Format a value as YAML."""
    if isinstance(value, list):
        return f"[{', '.join(map(plain, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{plain(k)}: {plain(v)}' for k, v in value.items())}}}"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(value)
    safe = _PLAIN.fullmatch(text) and text.casefold() not in _YAML_WORDS and ": " not in text
    return text if safe else json.dumps(text, ensure_ascii=False)
