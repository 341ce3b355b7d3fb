"""The texts of an experiment: one per item and condition, with its critical region.

`shape: items` of the parser `table`. A text is in one cell (`sentence`), or in several: `context`,
then `sentence` or `critical`, then `continuation`.

The critical region of a text: found by its words, by a marker, or by its position.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NoReturn

import numpy as np
import pandas as pd

from readingtimes.errors import InputError
from readingtimes.joins.index import spelling
from readingtimes.own.columns import MISSING_LABELS, Columns, labels, lacking
from readingtimes.strict_tables import Table, all_visible

CRITICAL = "critical"
"""The label of the region that a response is to."""
MARKERS = ("*", "**", "[]", "{}", "<>", "|", "||", "_", "__", "#", "^", "~")
"""Markers that `describe` looks for."""
LABEL = re.compile(r"critical|(?:spillover|precritical)_[1-9]\d*")


@dataclass(frozen=True)
class Region:
    """A region of a text: position of the first word (from 0), and number of words."""

    start: int
    size: int

    @property
    def end(self) -> int:
        """The position after the last word."""
        return self.start + self.size


def require_marker(marker: str) -> None:
    """Raise InputError unless a marker has an opening and a closing character.

    Parameters
    ----------
    marker : str
        Two different characters, such as `[]`, or one sign that opens and closes, such as `*`.
    """
    if not marker or re.search(r"[\w\s]", marker):
        raise InputError(
            f"options → marker: {marker!r} is no marker; write the signs around the critical region, "
            "as '*' for *mill* or '[]' for [mill]"
        )


def split_marked(text: str, marker: str) -> tuple[list[str], Region]:
    """Return the words of a text without its marker, and the marked region.

    Parameters
    ----------
    text : str
        The text, one region of which is marked.
    marker : str
        As `require_marker` wants it.

    Returns
    -------
    words : list of str
    region : Region

    Raises
    ------
    InputError
        If not exactly one region is marked, or the marked part begins or ends inside a word.

    Examples
    --------
    >>> split_marked("They sold *the mill*.", "*")
    (['They', 'sold', 'the', 'mill.'], Region(start=2, size=2))
    """
    paired = len(marker) == 2 and marker[0] != marker[1]
    left, right = marker if paired else (marker, marker)
    counts = (text.count(left), text.count(right)) if paired else (text.count(left) / 2,) * 2
    if counts != (1, 1):
        raise InputError(f"needs one region between {left!r} and {right!r}, as {left}mill{right}")
    begin = text.index(left)
    end = text.index(right, begin + len(left)) if right in text[begin + len(left) :] else -1
    if end < 0:
        raise InputError(f"has {right!r} before {left!r}")
    before, inside = text[:begin], text[begin + len(left) : end]
    if not inside.strip():
        raise InputError(f"has nothing between {left!r} and {right!r}")
    clean = before + inside + text[end + len(right) :]
    first = len(before) + len(inside) - len(inside.lstrip())
    last = len(before) + len(inside.rstrip())
    places = [(match.start(), match.end()) for match in re.finditer(r"\S+", clean)]
    touched = [n for n, (a, b) in enumerate(places) if a < last and b > first]
    outside = clean[places[touched[0]][0] : first] + clean[last : places[touched[-1]][1]]
    if re.search(r"\w", outside):
        word = clean[places[touched[0]][0] : places[touched[-1]][1]]
        raise InputError(f"marks a part of {word!r}; mark whole words")
    return clean.split(), Region(touched[0], len(touched))


def occurrences(words: Sequence[str], critical: Sequence[str]) -> list[int]:
    """Return where the critical words begin, from 0, without case, accents and punctuation.

    Parameters
    ----------
    words, critical : sequence of str
        The words of the text and of the region.
    """
    words, critical = list(words), list(critical)
    if all(map(spelling, critical)):
        words, critical = list(map(spelling, words)), list(map(spelling, critical))
    size = len(critical)
    return [n for n in range(len(words) - size + 1) if words[n : n + size] == critical]


def is_same(words: Sequence[str], other: Sequence[str]) -> bool:
    """Return whether two regions have the same words, without case, accents and punctuation."""
    one, two = [[spelling(w) or w for w in side] for side in (words, other)]
    return one == two


def find_words(words: Sequence[str], critical: Sequence[str]) -> Region:
    """Return the region of the critical words, which must occur exactly once.

    Parameters
    ----------
    words, critical : sequence of str
        The words of the text and of the region.

    Raises
    ------
    InputError
        If they do not occur, or occur more than once.
    """
    starts = occurrences(words, critical)
    if len(starts) == 1:
        return Region(starts[0], len(critical))
    text = " ".join(critical)
    if starts:
        places = ", ".join(str(start + 1) for start in starts)
        raise InputError(
            f"critical {text!r} occurs {len(starts)} times (words {places}); map `position`, or mark "
            "the region in the text (`marker`)"
        )
    inside = next(
        (word for word in words if spelling(text) and spelling(text) in spelling(word)), ""
    )
    part = f" by itself: it is a part of {inside!r}" if inside else ""
    raise InputError(
        f"critical {text!r} does not occur{part}; correct it, or map `position`, or mark the region "
        "in the text (`marker`)"
    )


STRUCTURE = (
    *("stimulus", "condition", "context", "critical", "continuation"),
    *("item", "sentence", "position", "last_position", "span", "region", "subject", "word"),
)
"""Names of `columns:` that refer to a text or its region, and are not columns to keep."""
KEYS = ("condition", "context", "critical", "continuation")
"""Those for rows of responses, in addition to the names of all tables."""
PARTS = ("context", "sentence", "critical", "continuation")
SPILLOVER = "spillover_"
_NUMBERS = ("position", "last_position", "span")
_FILL = "fill it in, or leave such rows out: `unmatched: dropped`"
_BASES = ("from 0", "from 1")


@dataclass(frozen=True)
class Options:
    """Options of a table of items.

    Attributes
    ----------
    marker : str or None
        Signs around the critical region.
    spillover, precritical : int
        Words after and before the critical region that are regions of their own.
    base : str or None
        `from 0` or `from 1`: how `position` counts; None: found by the critical words.
    items : mapping or None
        Labels of the table → those of the words.
    """

    marker: str | None = None
    spillover: int = 2
    precritical: int = 0
    base: str | None = None
    items: Mapping | None = None

    def __post_init__(self) -> None:
        """Raise InputError for an option that is impossible."""
        if self.marker is not None:
            require_marker(self.marker)
        if self.base not in (None, *_BASES):
            raise InputError(f"options → join → position: {self.base!r}; write from 0 or from 1")
        if self.spillover < 0 or self.precritical < 0:
            raise InputError("options → spillover, precritical: numbers of words, from 0")


@dataclass(frozen=True)
class Text:
    """A text's words, its critical region, and the later regions in the table."""

    words: tuple[str, ...]
    critical: Region
    further: tuple[tuple[str, Region], ...] = field(default=())

    def regions(self, options: Options) -> dict[str, Region]:
        """Return label → region: critical, spillover_1 …, precritical_1 …."""
        by_name = {"critical": self.critical, **dict(self.further)}
        end = max(region.end for region in by_name.values())
        for number in range(len(self.further) + 1, options.spillover + 1):
            if end < len(self.words):
                by_name[f"{SPILLOVER}{number}"] = Region(end, 1)
                end += 1
        for number in range(1, options.precritical + 1):
            if self.critical.start - number >= 0:
                by_name[f"precritical_{number}"] = Region(self.critical.start - number, 1)
        return by_name


def is_structure(name: str) -> bool:
    """Return whether a name of `columns:` refers to a text or its regions."""
    return name in STRUCTURE or name.startswith(SPILLOVER)


def spillover_columns(columns: Columns, there: list[str]) -> list[str]:
    """Return the columns of the texts of spillover regions, in order: spillover_1, spillover_2 …."""
    names_there = []
    while (name := f"{SPILLOVER}{len(names_there) + 1}") in columns.of:
        names_there.append(name)
    return [columns.needed(name, "the table", there) for name in names_there]


def stimulus_column(columns: Columns, there: list[str]) -> str | None:
    """Return the column of item labels: mapped as `stimulus` or `item`, or called so."""
    for name in ("stimulus", "item"):
        if name in columns.of:
            return columns.find(name, there)
    return columns.find("stimulus", there) or columns.find("item", there)


def part_columns(columns: Columns, there: list[str]) -> dict[str, str]:
    """Return part → column of the texts' parts that are in a table; contexts only where mapped."""
    required = ("sentence", "critical")
    mapped = {n: columns.find(n, there) for n in PARTS if n in required or n in columns.of}
    return {name: column for name, column in mapped.items() if column is not None}


def needed_columns(columns: Columns, path: object, there: list[str]) -> list[str | None]:
    """Return the columns of a table of texts.

    Parameters
    ----------
    columns : Columns
        The option `columns`.
    path : Path
        The file, for messages.
    there : list of str
        The file's columns.

    Raises
    ------
    InputError
        If a column that is mapped is not there, or nothing says where the critical region is.
    """
    parts = part_columns(columns, there)
    for name in ("stimulus", "condition", *PARTS, *_NUMBERS):
        if columns.of.get(name) is not None:
            columns.needed(name, path, there)
    if "sentence" not in parts and not ("critical" in parts and len(parts) > 1):
        way = (
            "options → columns → sentence names that of the texts; or `context`, `critical` and "
            "`continuation` those of their parts. "
        )
        raise lacking(path, columns.name("sentence") or "sentence", there, way)
    names = ("condition", *_NUMBERS)
    return [
        stimulus_column(columns, there),
        *parts.values(),
        *(columns.find(name, there) for name in names),
        *spillover_columns(columns, there),
    ]


def without_fillers(table: Table, columns: Columns) -> Table:
    """Return the table without rows that lack item, condition, sentence or critical words.

    Parameters
    ----------
    table : Table
        The rows.
    columns : Columns
        The option `columns`.
    """
    there = list(table.frame.columns)
    parts = part_columns(columns, there)
    names = {stimulus_column(columns, there), columns.find("condition", there)}
    names |= {column for part, column in parts.items() if part in ("sentence", "critical")}
    lacking = table.frame[sorted(names - {None})].isin(MISSING_LABELS).any(axis=1)
    return table.without(lacking, "without item, condition or critical words, as fillers are")


class Texts:
    """The texts of a table's rows, each distinct one read once.

    Parameters
    ----------
    table : Table
        The rows.
    columns : Columns
        The option `columns`.
    options : Options
        Marker, positions and labels.
    """

    def __init__(self, table: Table, columns: Columns, options: Options) -> None:
        self.table, self.columns, self.options = table, columns, options
        self.there = list(table.frame.columns)
        self.parts = part_columns(columns, self.there)
        mapped = {name: columns.find(name, self.there) for name in _NUMBERS if name in columns.of}
        self.numbers = {name: column for name, column in mapped.items() if column is not None}
        self.spillover = spillover_columns(columns, self.there)
        read = [*self.parts.values(), *self.spillover, *self.numbers.values()]
        self.frame = pd.DataFrame({name: all_visible(table[name]) for name in dict.fromkeys(read)})
        self.codes, self.first = _distinct(self.frame)

    def read(self) -> list[Text]:
        """Return the texts by `codes`; InputError, with the row, for a region that is not found."""
        base = self._base() if "position" in self.numbers and not self.options.marker else None
        return [self._text(line, base) for line in self.first]

    def has_text(self) -> bool:
        """Return whether rows have whole texts, not only critical words."""
        return "sentence" in self.parts or len(self.parts) > 1

    def plain(self) -> list[list[str]]:
        """Return the words of each distinct text, without marker."""
        return [self._split(line)[0] for line in self.first]

    def _fail(self, line: int, problem: object) -> NoReturn:
        column = self.parts.get("sentence", self.parts.get("critical"))
        text = self.frame.at[line, column]
        self.table.fail(line, f"{column} {text!r}: {problem}")

    def _value(self, line: int, part: str) -> str:
        return self.frame.at[line, self.parts[part]] if part in self.parts else ""

    def _split(self, line: int) -> tuple[list[str], int, int, Region | None]:
        """Return the words, the limits of the sentence among them, and a marked region."""
        context = self._value(line, "context").split()
        body = self._value(line, "sentence" if "sentence" in self.parts else "critical")
        words, marked = body.split(), None
        if self.options.marker and "sentence" in self.parts:
            try:
                words, marked = split_marked(body, self.options.marker)
            except InputError as problem:
                self._fail(line, problem)
        if not words:
            column = self.parts["sentence" if "sentence" in self.parts else "critical"]
            self.table.fail(line, f"{column} is empty: every row needs its text; {_FILL}")
        end = len(context) + len(words)
        region = None if marked is None else Region(len(context) + marked.start, marked.size)
        return (
            context + words + self._value(line, "continuation").split(),
            len(context),
            end,
            region,
        )

    def _text(self, line: int, base: int | None) -> Text:
        words, begin, end, region = self._split(line)
        critical = self._value(line, "critical").split()
        if "critical" in self.parts and not critical:
            self.table.fail(
                line,
                f"{self.parts['critical']} is empty: every row needs its critical word; {_FILL}",
            )
        if "sentence" not in self.parts:
            region = Region(begin, end - begin)
        elif region is not None:
            self._agree(line, words, region, critical, "the marked region")
        elif base is not None:
            start = begin + self._number(line, "position") - base
            region = Region(start, self._size(line, critical))
            if region.start < begin or region.end > len(words):
                self._fail(
                    line,
                    f"position {self._shown(line)} is outside of its {end - begin} words; correct it",
                )
            self._agree(
                line, words, region, critical, f"the region at position {self._shown(line)}"
            )
        elif critical:
            try:
                first_word = find_words(words[begin:end], critical)
            except InputError as problem:
                self._fail(line, problem)
            region = Region(begin + first_word.start, first_word.size)
        elif "critical" in self.columns.of:  # null: the response is to the whole sentence
            region = Region(begin, end - begin)
        else:
            self._fail(
                line,
                "nothing says which words the response is to: map `critical` (their text) or "
                "`position`, name the `marker` around them, or map `critical: null` where it is to "
                "the whole text",
            )
        return Text(tuple(words), region, self._further(line, words, region))

    def _further(
        self, line: int, words: list[str], region: Region
    ) -> tuple[tuple[str, Region], ...]:
        """Return the spillover regions whose texts the table has; each must follow the one before."""
        regions, end = [], region.end
        for number, column in enumerate(self.spillover, start=1):
            region_words = self.frame.at[line, column].split()
            if region_words and not is_same(words[end : end + len(region_words)], region_words):
                there = " ".join(words[end : end + len(region_words)])
                self._fail(
                    line,
                    f"{column} is {' '.join(region_words)!r}, and {there!r} follows; correct one of them",
                )
            if not region_words:
                break
            regions.append((f"{SPILLOVER}{number}", Region(end, len(region_words))))
            end += len(region_words)
        return tuple(regions)

    def _agree(
        self, line: int, words: list[str], region: Region, critical: list[str], what: str
    ) -> None:
        """Raise InputError unless the region has the given critical words."""
        region_words = words[region.start : region.end]
        if critical and not is_same(region_words, critical):
            at = ", ".join(str(start + 1) for start in occurrences(words, critical))
            stands = f"stands at word {at}" if at else "does not occur"
            self._fail(
                line,
                f"{what} is {' '.join(region_words)!r}, and critical is {' '.join(critical)!r}, which {stands}; "
                "correct one of them, or leave out the column that is wrong",
            )

    def _number(self, line: int, name: str) -> int:
        return int(self._columns_of_numbers[name][line])

    @cached_property
    def _columns_of_numbers(self) -> dict[str, pd.Series]:
        return {
            name: self.table.numbers(column, integer=True) for name, column in self.numbers.items()
        }

    def _shown(self, line: int) -> str:
        return self.frame.at[line, self.numbers["position"]]

    def _size(self, line: int, critical: list[str]) -> int:
        if "span" in self.numbers:
            return max(self._number(line, "span"), 1)
        if "last_position" in self.numbers:
            return max(self._number(line, "last_position") - self._number(line, "position") + 1, 1)
        return len(critical) or 1

    def _base(self) -> int:
        """Return whether positions count from 0 or 1: as stated, or as the critical words show."""
        if self.options.base is not None:
            return _BASES.index(self.options.base)
        rows = [(line, *self._split(line)[:3]) for line in self.first]
        fits = {0: 0, 1: 0}
        excluded = set()
        for line, words, begin, end in rows:
            critical = self._value(line, "critical").split()
            size = self._size(line, critical)
            for base in fits:
                start = begin + self._number(line, "position") - base
                if start < begin or start + size > end:
                    excluded.add(base)
                elif critical and is_same(words[start : start + size], critical):
                    fits[base] += 1
        if max(fits.values()):
            return max(fits, key=fits.get)
        left = [base for base in fits if base not in excluded]
        if len(left) == 1:
            return left[0]
        line, words, begin, _ = rows[0]
        start = begin + self._number(line, "position")
        shown = [repr(words[n]) if begin <= n < len(words) else "none" for n in (start, start - 1)]
        self._fail(
            line,
            f"position {self._shown(line)} is {shown[0]} if positions count from 0, and {shown[1]} if "
            "from 1; say `join: {position: from 0}` or `join: {position: from 1}`, or map `critical`",
        )


def _distinct(frame: pd.DataFrame) -> tuple[np.ndarray, list[int]]:
    """Return each row's number among the distinct rows, and the lines of these."""
    codes = frame.groupby(list(frame.columns), sort=False).ngroup().to_numpy()
    _, first = np.unique(codes, return_index=True)
    return codes, [frame.index[position] for position in first]


def cell_labels(table: Table, columns: Columns, options: Options) -> pd.DataFrame:
    """Return each row's labels: stimulus and condition, if in the table.

    Parameters
    ----------
    table : Table
        The rows.
    columns : Columns
        The option `columns`.
    options : Options
        Its `items` rename stimuli.
    """
    there = list(table.frame.columns)
    frame = pd.DataFrame(index=table.frame.index)
    if (column := stimulus_column(columns, there)) is not None:
        frame["stimulus"] = labels(table, column, options.items, "items")
    if (column := columns.find("condition", there)) is not None:
        frame["condition"] = labels(table, column)
    return frame
