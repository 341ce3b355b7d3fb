"""Mapped columns of a user's table, and conversion of their values.

Profiles of a table's columns: types, missing values, ranges, examples.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pandas as pd

from readingtimes import strict_tables
from readingtimes.errors import InputError
from readingtimes.formats import anything, rda, trials, xlsx
from readingtimes.formats.anything import Style
from readingtimes.joins.index import plain_label, renamed
from readingtimes.names import hint
from readingtimes.strict_tables import Table, all_visible

WORDS = ("item", "sentence", "position", "word", "space_after", "region")
RESPONSES = (
    *("subject", "word_id", "item", "sentence", "position", "word"),
    *("last_position", "span", "region", "length", "time_ms"),
)
MISSING = ("", "NA", "N/A", "#N/A", "NaN", "nan", "NULL", "null", "None", ".")
"""What stands for a missing value in a column of numbers."""
TOGETHER = " + "
"""What joins the names of several columns that are one label together."""
MISSING_SPELLINGS = (
    "n/a",
    "na",
    "n.a.",
    "nan",
    "missing",
    "null",
    "none",
    "#null!",
    "#value!",
    "#div/0!",
)
"""Further ones, in lower case, that a table's entry states by `missing`; signs without letters are, too."""
MISSING_LABELS = ("", "NA", "NaN", "nan")
"""What stands for one in a column of names, in which `None` may be a name."""
TAKEN = ("sentence_first", "sentence_last", "item_first", "item_last", "partition", "place")
SPACES = r"[ \xa0\u2000-\u200a\u202f\u3000]"
"""Spaces of any kind, between words."""
_WHOLE = re.compile(r"-?\d+\.0+")
_NUMBER = re.compile(r"\d{1,9}")
_EXACT = 2**53  # integers up to here are exact in float64


@dataclass(frozen=True)
class Columns:
    """Columns of a file: `of` maps name → column (None: none); `said` are the names in `columns:`.

    `given` is what `columns:` names for this file alone; `several` has columns that are made of others, and
    `picks` those of them that are one of the others in each row, which the column `by` says.
    `rows` has column → the values whose rows are read, none: all.
    """

    of: Mapping[str, str | None]
    given: frozenset[str]
    several: Mapping[str, tuple[str, ...]]
    picks: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    rows: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def name(self, what: str) -> str | None:
        """Return the column of a name: the mapped one, or one of that name that is not mapped otherwise."""
        return self.of.get(what, None if what in self.of.values() else what)

    def find(self, what: str, there: Iterable[str]) -> str | None:
        """Return the column of a name if it exists; InputError if a mapped column does not."""
        name = self.name(what)
        return name if name in there else None

    def needed(self, what: str, path: Path, there: Sequence[str], else_: str = "") -> str:
        """Return the column of a required name."""
        name = self.name(what)
        if name is None:
            raise InputError(f"options → columns → {what}: a column is needed here")
        if name not in there:
            raise lacking(path, name, there, else_)
        return name

    def others(self) -> dict[str, str]:
        """Return the mapped names unknown to the parser: columns to keep."""
        own_names = WORDS + RESPONSES
        return {n: c for n, c in self.of.items() if n not in own_names and c is not None}


def columns_of(
    columns: Mapping | None, part: str, rows: Mapping | None = None, more: Iterable[str] = ()
) -> Columns:
    """Parse the options `columns` and `rows`, common or under `words` and `responses`.

    Several columns in a list are one: their labels together. Of a mapping, such as
    `{by: side, left: word1, right: word2}`, the value of the column `by` says which is it. `more` are columns that are read as
    well. Raises InputError where a value is no name of a column (or null: there is none).
    """
    columns = dict(columns or {})
    by_table = {}
    for table_name in ("words", "responses"):
        if isinstance(columns.get(table_name), Mapping):
            part_columns = columns.pop(table_name)
            by_table = dict(part_columns) if table_name == part else by_table
    several, picks = {}, {}
    for name, column in {**columns, **by_table}.items():
        if isinstance(column, Mapping):
            of = {str(value): c for value, c in column.items()}
            if "by" not in of or len(of) < 3 or not all(isinstance(c, str) for c in of.values()):
                raise InputError(
                    f"options → columns → {name}: {column!r} is no choice between columns; write it as "
                    "`{by: side, left: word_left, right: word_right}`, with the values of the column `by`"
                )
            picks[picked_name(of)] = of
            several[picked_name(of)] = tuple(of.values())
            (by_table if name in by_table else columns)[name] = column = picked_name(of)
        if isinstance(column, list) and column and all(isinstance(c, str) for c in column):
            several[TOGETHER.join(column)] = tuple(column)
            (by_table if name in by_table else columns)[name] = TOGETHER.join(column)
        elif column is not None and (not isinstance(column, str) or not column.strip()):
            raise InputError(
                f"options → columns → {name}: {column!r} is no column's name; put it in quotes, or "
                "write null where there is no such column"
            )
        if name in TAKEN:
            raise InputError(
                f"options → columns → {name}: the project uses this name; take another"
            )
    chosen = dict.fromkeys(more, ()) | _rows_of(rows, part)
    return Columns({**columns, **by_table}, frozenset(by_table), several, picks, chosen)


def picked_name(pick: Mapping[str, str]) -> str:
    """Return the name of a column that is another one in each row, by the column `by`."""
    return f"{' or '.join(c for value, c in pick.items() if value != 'by')} by {pick['by']}"


def with_picked(table: Table, name: str, pick: Mapping[str, str]) -> Table:
    """Return a table with a column whose rows are those of other columns, as the column `by` says.

    Parameters
    ----------
    table : Table
        The table.
    name : str
        The new column.
    pick : mapping
        Value of the column `by` → column, and `by`.

    Raises
    ------
    InputError
        If `by` has another value.
    """
    by = table[pick["by"]]
    words = pd.Series("", index=by.index, dtype="str")
    for value, column in pick.items():
        if value != "by":
            words = words.mask(by == value, table[column])
    if (wrong := ~by.isin([value for value in pick if value != "by"])).any():
        line = by.index[int(np.argmax(wrong))]
        listed = ", ".join(value for value in pick if value != "by")
        table.fail(line, f"{pick['by']} is {by[line]!r}, and `columns` names {listed}")
    return replace(table, frame=table.frame.assign(**{name: words}))


def _rows_of(rows: Mapping | None, part: str) -> dict[str, tuple[str, ...]]:
    """Return column → values of the option `rows` for one file."""
    rows = dict(rows or {})
    of_part = {}
    for name in ("words", "responses"):
        if isinstance(rows.get(name), Mapping):
            of_file = rows.pop(name)
            of_part = of_file if name == part else of_part
    selected = {}
    for name, values in {**rows, **of_part}.items():
        values = values if isinstance(values, list) else [values]
        if not values or any(isinstance(value, (dict, list, type(None))) for value in values):
            raise InputError(
                f"options → rows → {name}: name the value, or a list of values, whose rows are read"
            )
        selected[str(name)] = tuple(map(str, values))
    return selected


def read(path: Path, style: Style, columns: Columns, pick: Callable) -> Table:
    """Read the columns that `pick` selects from the existing ones (None: missing).

    Several columns that are one, and all there, are there for it as well.
    """

    def choose(there: list[str]) -> list[str]:
        whole = {n: c for n, c in columns.several.items() if set(c) <= set(there)}
        picked = [name for name in pick([*there, *whole]) if name is not None]
        for name in columns.rows:
            if name not in there:
                raise lacking(path, name, there)
        return [*(column for name in picked for column in whole.get(name, (name,))), *columns.rows]

    rows = {name: list(values) for name, values in columns.rows.items() if values}
    table = anything.read(path, replace(style, rows=rows), choose)
    if style.percent_encoded:
        table = Table(table.path, decode_percents(table.frame))
    for name, of in columns.picks.items():
        if set(of.values()) <= set(table.frame.columns):
            table = with_picked(table, name, of)
    frame = table.frame
    for name, parts in columns.several.items():
        if name not in columns.picks and set(parts) <= set(frame.columns):
            joined = labels(table, parts[0])
            for part in parts[1:]:
                joined = joined + " " + labels(table, part)
            frame = frame.assign(**{name: joined})
    return Table(table.path, frame)


def lacking(path: Path, name: str, there: Iterable[str], else_: str = "") -> InputError:
    """Return the error for a missing column."""
    there = list(there)
    listed = ", ".join(there[:20]) + (", …" if len(there) > 20 else "")
    return InputError(f"{path} has no column {name}; {else_ or hint(name, there)}It has: {listed}")


def matching(pattern: str, there: Iterable[str]) -> dict[str, str]:
    """Return column → part matched by the star, for a pattern with one `*`."""
    if "*" not in pattern or pattern.count("*") > 1:
        return {}
    head, _, tail = pattern.partition("*")
    matches = {}
    for name in there:
        inside = name[len(head) : len(name) - len(tail)]
        if fnmatchcase(name, re.sub(r"([\[?])", r"[\1]", pattern)) and inside:
            matches[name] = inside
    return matches


def labels(table: Table, column: str, names: object = None, option: str = "") -> pd.Series:
    """Return a column as labels: integers without `.0`, no invisible characters, none missing.

    `names` (label → label) renames them, as the option of that name says. Raises InputError for a
    missing label, and for one label in two spellings ("1", "1.0" and "01").
    """
    text = all_visible(table[column])
    if (wrong := text.isin(MISSING_LABELS)).any():
        line = text.index[int(np.argmax(wrong))]
        value = text.iloc[int(np.argmax(wrong))]
        what = f"is {value!r}, which stands for a missing value" if value else "is empty"
        table.fail(line, f"{column} {what} ({wrong.sum():,} such rows)")
    if text.str.fullmatch(_WHOLE).all():
        text = text.str.replace(r"\.0+$", "", regex=True)
    text = renamed(text, names, f"options → {option}")
    _one_spelling(table, column, text)
    return text


def _one_spelling(table: Table, column: str, text: pd.Series) -> None:
    """Raise InputError for a label with several spellings, such as 1, 1.0 and 01."""
    seen: dict[str, str] = {}
    for label in text.unique():
        other = seen.setdefault(plain_label(label) if label[:1].isdigit() else label, label)
        if other != label:
            line = text.index[int(np.argmax(text == label))]
            table.fail(
                line,
                f"{column} is {label!r}, before it was {other!r}: one label in two spellings; write "
                "one of them",
            )


def whole(text: pd.Series) -> pd.Series | None:
    """Return labels as int64, or None if one is not an integer."""
    unique = pd.Series(text.unique())
    if not unique.str.fullmatch(_NUMBER).all():
        return None
    return text.map(dict(zip(unique, unique.astype("int64"), strict=True)))


def natural(text: pd.Series) -> pd.Series | None:
    """Return the rank of labels by their final number if they share a prefix, else None."""
    unique = pd.Series(text.unique())
    parts = unique.str.extract(r"^(.*?)(\d{1,9})$")
    if parts.isna().any().any() or parts[0].nunique() > 1:
        return None
    numbers = parts[1].astype("int64")
    return None if numbers.duplicated().any() else text.map(dict(zip(unique, numbers, strict=True)))


def positions(table: Table, column: str) -> pd.Series:
    """Return a column of positions as int64, from 0."""
    return table.numbers(column, integer=True)


def numerals(text: pd.Series, style: Style) -> pd.Series:
    """Return numbers with a decimal point and without marks between thousands."""
    if style.thousands:
        text = text.str.replace(style.thousands, "", regex=False)
    return text if style.decimal == "." else text.str.replace(style.decimal, ".", regex=False)


def decimal(table: Table, column: str, style: Style) -> Table:
    """Return the table with `numerals` in a column."""
    if style.decimal == "." and not style.thousands:
        return table
    frame = table.frame.assign(**{column: numerals(table[column], style)})
    return type(table)(table.path, frame)


def typed(
    table: Table,
    column: str,
    missing: Sequence[str] | None,
    style: Style | None = None,
    name: str = "",
) -> pd.Series:
    """Convert a column to numbers or booleans if possible, else text; missing values stay missing.

    Numbers of stimuli and conditions (by the column's `name` in words) are labels, and stay text.
    Integers that float64 cannot represent exactly are names, and stay text. Raises InputError at an
    infinity among numbers.
    """
    text = table[column]
    absent = text.isin(MISSING if missing is None else ["", *missing])
    given = text[~absent]
    folded = given.str.casefold()
    is_label = name in ("stimulus", "condition")
    if len(given) and not is_label and folded.isin(["true", "false"]).all():
        truth = (text.str.casefold() == "true").astype("boolean").mask(absent)
        return truth if absent.any() else truth.astype(bool)
    plain = given if style is None else numerals(given, style)
    values = pd.to_numeric(plain, errors="coerce")
    if len(given) and not is_label and not values.isna().any():
        if (wrong := ~np.isfinite(values.to_numpy(dtype="float64"))).any():
            line = given.index[int(np.argmax(wrong))]
            table.fail(line, f"{column} is {given.iloc[int(np.argmax(wrong))]!r}, no finite number")
        small = (values.abs() <= _EXACT).all() or not (values % 1 == 0).all()
        if small:
            return values.reindex(text.index) if not absent.any() else _spread(values, absent)
    gone = text.isin(MISSING_LABELS if missing is None else ["", *missing])
    return text.mask(gone, None).astype("str") if gone.any() else text


def _spread(values: pd.Series, absent: pd.Series) -> pd.Series:
    """Return float64 values at their rows, with NaN elsewhere."""
    full = np.full(len(absent), np.nan)
    full[~absent.to_numpy()] = values.to_numpy(dtype="float64")
    return pd.Series(full, index=absent.index)


def truths(table: Table, name: str) -> pd.Series:
    """Return a column of true and false as bool; InputError for another value."""
    folded = table[name].str.casefold()
    wrong = ~folded.isin(["true", "false"])
    if wrong.any():
        line = folded.index[wrong][0]
        table.fail(line, f"{name} is {table[name][line]!r}, neither true nor false")
    return folded == "true"


#: Most columns of a table that is described as a whole.
MOST_COLUMNS = 2_000
_EXAMPLES = 3
_SHOWN = 40  # maximum characters of the examples


@dataclass(frozen=True)
class Column:
    """Profile of a column; `kind` is number, whole number, true or false, text or nothing.

    `low`, `tenth`, `middle` and `high` are of numbers: the least, the first decile of those above
    0, the median and the largest; `below` is the share of numbers below 0; `zeros` and
    `missing` are rows. `spellings` are those of missing values that `MISSING` lacks; `odd` is of the few cells of a column of numbers that are none: line and
    value of the first, and their number. `lettered` is the share of different texts that are of letters.
    """

    name: str
    kind: str
    missing: int
    distinct: int
    examples: tuple[str, ...]
    low: float = np.nan
    middle: float = np.nan
    high: float = np.nan
    zeros: int = 0
    tenth: float = np.nan
    spellings: tuple[str, ...] = ()
    odd: tuple[int | str, str, int] | None = None
    below: float = 0.0
    lettered: float = 0.0

    @property
    def typical(self) -> float:
        """Return the median, or the first decile of numbers above 0 if most are 0."""
        return self.middle or self.tenth

    @property
    def numeric(self) -> bool:
        """Return whether the column has numbers."""
        return self.kind in ("number", "whole number")


def read_profile(path: Path) -> tuple[Table, Style]:
    """Read all columns of a table; return it with the detected encoding and decimal mark."""
    style = Style(encoding=_encoding(path))
    table = anything.read(path, style, lambda header: _few(path, header))
    texts = [table[name].drop_duplicates() for name in table.frame.columns]
    signs = pd.concat([text[text.str.contains("%", regex=False)] for text in texts])
    if len(signs) and not signs.str.replace(_PERCENT, "", regex=True).str.contains("%").any():
        style = replace(style, percent_encoded=True)
        table = Table(table.path, decode_percents(table.frame))
    if (of_words := trials.rows_of_words(table)) is not None:
        table, style = of_words, replace(style, trials=True)
    return table, style_of(table, style)


_PERCENT = r"%[0-9A-Fa-f]{2}"


def decode_percents(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table of texts without percent-encoding."""
    encoded = [name for name in frame if frame[name].str.contains(_PERCENT, regex=True).any()]
    return frame.assign(**{name: frame[name].map(unquote).astype("str") for name in encoded})


def style_of(table: Table, style: Style) -> Style:
    """Return a style with the marks of decimals and thousands that a table's numbers have."""
    marks = {mark for name in table.frame.columns if (mark := _thousands(table[name]))}
    if len(marks) == 1:
        mark = marks.pop()
        return replace(style, thousands=mark, decimal="," if mark == "." else ".")
    if any(_has_comma(table[name]) for name in table.frame.columns):
        return replace(style, decimal=",")
    return style


def _few(path: Path, header: list[str]) -> list[str]:
    """Return a header; raise InputError if it is too long for a table of words or times."""
    if len(header) > MOST_COLUMNS:
        raise InputError(
            f"{path} has {len(header):,} columns, and at most {MOST_COLUMNS:,} are described: write those "
            "with texts, words, readers and times into a file of their own, or turn the table if its "
            "rows are columns"
        )
    return header


def columns(table: Table, style: Style) -> list[Column]:
    """Describe each column of a table, in its order."""
    return [_column(str(name), table[name], style) for name in table.frame.columns]


def shown(columns: list[Column]) -> list[str]:
    """Return one line per column: name, kind, missing, distinct, range, examples."""
    head = ("column", "holds", "missing", "distinct", "least … median … largest", "examples")
    rows = [head]
    for c in columns:
        span = f"{c.low:g} … {c.middle:g} … {c.high:g}" if c.numeric else ""
        examples = ", ".join(c.examples)
        examples = examples if len(examples) <= _SHOWN else f"{examples[: _SHOWN - 1]}…"
        counts = (f"{c.missing:,}", f"{c.distinct:,}")
        rows.append((c.name, c.kind, *counts, span, examples))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _column(name: str, text: pd.Series, style: Style) -> Column:
    counts = text.value_counts()
    absent = counts.index.isin(MISSING)
    given = counts[~absent]
    missing = int(counts[absent].sum())
    first = tuple(text[~text.isin(MISSING)].drop_duplicates().head(_EXAMPLES))
    if given.empty:
        return Column(name, "nothing", missing, 0, ())
    values = pd.Series(given.index, dtype="str")
    if values.str.casefold().isin(["true", "false"]).all():
        return Column(name, "true or false", missing, len(given), first)
    numbers = pd.to_numeric(numerals(values, style), errors="coerce").to_numpy("float64", copy=True)
    numbers[np.isinf(numbers)] = np.nan
    none = np.isnan(numbers)
    spelled = none & values.map(_stands_for_nothing).to_numpy(dtype=bool)
    odd, rows = none & ~spelled, given.to_numpy()
    if none.all() or rows[odd].sum() > _ODD * rows[~none].sum():
        missing = int(text.isin(["", "NA"]).sum())  # the rest may be words and names
        lettered = float(values.str.fullmatch(_LETTERS).mean())
        return Column(name, "text", missing, len(given), first, lettered=lettered)
    missing += int(rows[spelled].sum())
    one = None
    if odd.any():
        at = text.index[text.isin(values[odd])][0]
        one = (at, str(text[at]), int(rows[odd].sum()))
    distinct, numbers = int((~none).sum()), np.repeat(numbers[~none], rows[~none])
    kind = "whole number" if (numbers % 1 == 0).all() else "number"
    ends = float(numbers.min()), float(np.median(numbers)), float(numbers.max())
    above = numbers[numbers > 0]
    tenth = float(np.quantile(above, 0.1)) if len(above) else np.nan
    zeros, spellings = int((numbers == 0).sum()), tuple(sorted(values[spelled]))
    below = float((numbers < 0).mean())
    return Column(name, kind, missing, distinct, first, *ends, zeros, tenth, spellings, one, below)


_LETTERS = r"\W*[^\W\d_][^\s\d_]*"
_ODD = 0.05
"""Most cells of a column of numbers that are none, as a share of those that are."""
_MARKS = (",", ".", "'", "’", " ", "\xa0", "\u202f")
"""Between thousands."""


def _stands_for_nothing(value: str) -> bool:
    """Return whether a cell of a column of numbers stands for a missing value: n/a, -, ?."""
    return value.casefold() in MISSING_SPELLINGS or bool(re.fullmatch(r"[\W_]+", value))


def _thousands(text: pd.Series) -> str:
    """Return the mark between thousands in a column of numbers, "" without one.

    All numbers of 1,000 and more have it, each with three digits after it, and no number is of its
    size without it: 1,012 in a column with 950 is no decimal, whose digits would be fewer somewhere.
    """
    given = pd.Series(text[~text.isin(MISSING)].unique(), dtype="str")
    for mark in _MARKS:
        decimals = rf"(?:{',' if mark == '.' else '[.]'}\d+)?"
        unmarked = given.str.extract(rf"^(\d{{1,9}}){decimals}$")[0].dropna()
        largest = pd.to_numeric(unmarked).max()
        if not 100 <= largest < 1000:  # also without any
            continue
        marked = given[given.str.contains(mark, regex=False) & ~given.index.isin(unmarked.index)]
        rest = len(given) - len(marked) - len(unmarked)
        group = rf"[1-9]\d{{0,2}}(?:{re.escape(mark)}\d{{3}})+{decimals}"
        if len(marked) and marked.str.fullmatch(group).all() and rest <= _ODD * len(given):
            before = pd.to_numeric(marked.str.partition(mark)[0])
            if before.median() < largest / 10:
                return mark
    return ""


def _has_comma(text: pd.Series) -> bool:
    """Return whether a column's numbers have a decimal comma."""
    given = pd.Series(text[~text.isin(MISSING)].unique(), dtype="str")
    if given.empty or not given.str.contains(",").any():
        return False
    numbers = given.str.fullmatch(r"-?\d+(,\d+)?")
    return bool(given[numbers].str.contains(",").any() and (~numbers).sum() <= _ODD * numbers.sum())


def _encoding(path: Path) -> str:
    """Guess a text's encoding: UTF-8 if valid, else Windows-1252, the most common alternative."""
    if path.is_dir() or rda.is_r_data(path) or xlsx.is_workbook(path):
        return "utf-8"
    data = strict_tables.content(path)
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        try:
            strict_tables.decode(path, data, "cp1252")
        except InputError:
            return "utf-8"  # errors are reported when the file is read
        return "cp1252"
    return "utf-8"
