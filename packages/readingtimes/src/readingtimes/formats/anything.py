"""Read a table in any format: delimited text, Parquet, Feather, Excel, data of R, SPSS and Stata.

Files of experiment software are read as tables of words, too (`formats.instruments`).
In data of SPSS and Stata, values may be codes with labels.
"""

import csv
import io
import itertools
import re
import struct
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from readingtimes import parquet_bounds, strict_tables
from readingtimes.errors import InputError
from readingtimes.formats import instruments, rda, streamed, trials, xlsx
from readingtimes.joins.index import plain_label
from readingtimes.names import hint
from readingtimes.strict_tables import Table, all_visible, as_text, visible, warn

_SPSS = (b"$FL2", b"$FL3")
_OLD_STATA = range(104, 116)
_DAMAGE = (
    *(ValueError, OSError, MemoryError, LookupError, EOFError, struct.error),
    *(TypeError, AttributeError),
)


def is_spss(head: bytes) -> bool:
    """Return whether a file begins as one of SPSS."""
    return head[:4] in _SPSS


def is_stata(head: bytes) -> bool:
    """Return whether a file begins as one of Stata."""
    old = len(head) > 2 and head[0] in _OLD_STATA and head[1] in (1, 2) and head[2] == 1
    return head[:11] == b"<stata_dta>" or old


def read_labelled(path: Path, choose: Callable[[list[str]], list[str]]) -> Table:
    """Read the columns that `choose` selects; rows are known by their numbers.

    A value is its label where each value that occurs has one of its own, and its code otherwise: a
    label of some values is of a scale's ends or of what is missing. Missing values, the user's, too,
    are "".

    Raises
    ------
    InputError
        For a damaged file, and for one of SPSS without pyreadstat.
    """
    with open(path, "rb") as file:
        frame, labels = (_spss if is_spss(file.read(4)) else _stata)(path)
    if frame.empty:
        raise InputError(f"{path} has no rows")
    frame = frame.set_axis([str(name) for name in frame.columns], axis=1)
    frame = frame[choose([*frame.columns])].set_axis(range(1, len(frame) + 1))
    labelled, coded = [], []
    for name in frame.columns:
        column = frame[name]
        if pd.api.types.is_float_dtype(column) and (column.dropna() % 1 == 0).all():
            frame[name] = column = column.astype("Int64")  # SPSS has no whole numbers
        if not (of := labels.get(name)):
            continue
        texts = column.map(of)
        own = len({*texts.dropna()}) == column.nunique()
        if own and texts.notna().sum() == column.notna().sum():
            frame[name] = texts
            labelled.append(name)
        else:
            coded.append(name)
    if labelled:
        warn(path, f"labels of values are read, not their codes: {', '.join(labelled)}")
    if coded:
        warn(path, f"codes are read, as not each value has a label of its own: {', '.join(coded)}")
    return Table(path, as_text(path, frame))


def _spss(path: Path) -> tuple[pd.DataFrame, dict[str, dict]]:
    """Return the data of SPSS, and column → code → label."""
    try:
        import pyreadstat
    except ImportError:
        raise InputError(
            f"{path}: an SPSS file needs pyreadstat "
            '(pip install "readingtimes[spss]"); or save it as CSV'
        ) from None
    try:
        frame, meta = pyreadstat.read_sav(str(path), user_missing=False)
    except (pyreadstat.ReadstatError, ValueError, OSError, MemoryError) as error:
        raise _damage_of(path, "SPSS", error) from None
    return frame, meta.variable_value_labels


def _stata(path: Path) -> tuple[pd.DataFrame, dict[str, dict]]:
    """Return the data of Stata, and column → code → label."""
    try:
        frame = pd.read_stata(path, convert_categoricals=False)
        labels = {}
        for name in frame.columns:
            if pd.api.types.is_numeric_dtype(frame[name]):
                labels[name] = _stata_labels(path, frame[name])
    except _DAMAGE as error:
        raise _damage_of(path, "Stata", error) from None
    return frame, labels


def _stata_labels(path: Path, codes: pd.Series) -> dict:
    """Return code → label of a column; a label of two codes is none of either."""
    try:
        with warnings.catch_warnings(action="ignore"):  # of values without a label
            texts = pd.read_stata(path, columns=[codes.name])[codes.name]
    except ValueError as error:
        if "not unique" not in str(error):
            raise
        return {None: ""}
    if not isinstance(texts.dtype, pd.CategoricalDtype):
        return {}
    return {code: text for code, text in zip(codes, texts, strict=True) if isinstance(text, str)}


def _damage_of(path: Path, kind: str, error: Exception) -> InputError:
    reason = " ".join(str(error).split())[:150]
    return InputError(f"{path} is no whole {kind} file ({reason}); get it again")


_RARE = "~^:"  # considered if no other separates
_CHOICE = "\t;,| " + _RARE
_LOOKED_AT = 30  # lines used to detect the separator


@dataclass(frozen=True)
class Style:
    """Reading options for a file.

    `separator` None: the one that gives all lines the same number of fields; `sheet` of a workbook
    None: the first; `frame` of R's data None: the largest; `decimal` is the decimal mark,
    `thousands` that between thousands; `percent_encoded`: a comma may be written %2C, as PCIbex
    does. `trials`: a row is a trial, with lists of words and times. `members` names the tables of a zip archive (`formats.archives`); `rows` the rows to keep:
    column → its value, or a list of them; `parts` columns that are parts of another's labels:
    column → a pattern of the labels (`{story}.page{page}`).
    """

    separator: str | None = None
    encoding: str = "utf-8"
    sheet: str | None = None
    frame: str | None = None
    decimal: str = "."
    members: str | None = None
    rows: Mapping[str, object] | None = None
    parts: Mapping[str, str] | None = None
    thousands: str = ""
    percent_encoded: bool = False
    trials: bool = False

    def __post_init__(self):
        for name, value in (("separator", self.separator), ("decimal", self.decimal)):
            if value is not None and (not isinstance(value, str) or len(value) != 1):
                raise InputError(f"options → {name}: {value!r} is not one character")
        if self.thousands == self.decimal:
            raise InputError(
                f"options → thousands: {self.thousands!r} is the decimal mark; state `decimal`, too"
            )


def read(path: Path, style: Style, choose: Callable[[list[str]], Iterable[str]] = list) -> Table:
    """Read the columns that `choose` selects; all values are text, missing ones "".

    Rows are known by their lines, or their numbers in a file without lines. A name that is empty,
    as that of row names is, becomes `unnamed_1`, by its place. Raises InputError, in one line with
    the file's name, for a file that is absent, empty, damaged or of another kind.
    """
    path = Path(path)
    if path.is_dir():
        raise InputError(f"{path} is a folder; name the file")
    if style.trials:
        whole = read(path, replace(style, trials=False))
        if (table := trials.rows_of_words(whole)) is None:
            raise InputError(
                f"{path}: options → trials: no row has lists of as many times as words"
            )
        frame = table.frame
        return replace(table, frame=frame[_pick_columns(path, list(frame.columns), choose)])
    if not style.rows and not style.members and not style.parts:
        return _read(path, style, choose, {})
    choice = _Choice(path, choose, style.rows, style.parts or {})
    plain = replace(style, members=None, parts=None)
    if style.members and streamed.is_archive(path) and not xlsx.is_workbook(path):
        return _of_archive(path, style.members, plain, choice)
    selected = choice.select(_read(path, plain, choice, choice.rows))
    choice.check()
    return selected


def _read(path: Path, style: Style, choose: Callable, kept: Mapping) -> Table:
    """Read the selected columns of a single table; from a large one, only the selected rows."""
    if rda.is_r_data(path):
        _whole(path)
        with rda.any_as_csv(path, style.frame) as table:
            data = table.read_bytes()
        return of_text(path, data, Style(separator=","), choose)
    if xlsx.is_workbook(path):
        return xlsx.read(path, style.sheet, lambda names: _pick_columns(path, names, choose))
    _whole(path)
    if zipfile.is_zipfile(path):
        inside = xlsx.members(path)
        if kind := next((k for name, k in _DOCUMENTS.items() if name in inside), None):
            raise InputError(f"{path} is {kind}; save its table as .xlsx or CSV")
        raise InputError(
            f"{path} is a zip archive; name its tables in options → members, or unzip it"
        )
    with open(path, "rb") as file:
        head = file.read(instruments.LOOKED_AT)
    if is_spss(head) or is_stata(head):
        return read_labelled(path, lambda names: _pick_columns(path, names, choose))
    if kept and (table := _parquet_rows(path, choose, kept)) is not None:
        return table
    is_program = instruments.find(head.decode("utf-8", "replace")) is not None
    if path.stat().st_size > streamed.LARGE and not _is_columnar(path) and not is_program:
        open_ = partial(streamed.opened, path)
        return streamed.read(path, open_, style.separator, style.encoding, choose, kept)
    data = strict_tables.content(path)
    if data[:4] == b"PAR1" or data[:6] == b"ARROW1":
        return _columnar(path, data, choose)
    if data[:2] == b"PK" or data[:4] == b"\xd0\xcf\x11\xe0":
        kind = "a damaged workbook" if data[:2] == b"PK" else "an old Excel workbook"
        raise InputError(f"{path} is {kind}; save the sheet as .xlsx or CSV")
    return of_text(path, data, style, choose)


def _is_parquet(path: Path) -> bool:
    with open(path, "rb") as file:
        return file.read(4) == b"PAR1"


def _is_columnar(path: Path) -> bool:
    """Return whether a file is Parquet or Feather."""
    with open(path, "rb") as file:
        return file.read(6)[:4] in (b"PAR1", b"ARRO")


class _Choice:
    """Selection of columns that includes those of `rows` and `parts`, and records the result."""

    def __init__(
        self,
        path: Path,
        choose: Callable,
        rows: Mapping[str, object] | None,
        parts: Mapping[str, str],
    ):
        if rows is not None and not isinstance(rows, Mapping):
            raise InputError(f"options → rows: {rows!r} is not a mapping of columns and values")
        values = {str(n): v if isinstance(v, list) else [v] for n, v in (rows or {}).items()}
        self.rows = {name: [str(value) for value in listed] for name, listed in values.items()}
        self.path, self.choose, self.picked = path, choose, []
        self.parts = {column: streamed.compiled(pattern) for column, pattern in parts.items()}
        self.seen: dict[str, dict[str, None]] = {name: {} for name in self.rows}

    def __call__(self, header: list[str]) -> list[str]:
        for option, names in (("rows", self.rows), ("parts", self.parts)):
            if lost := [name for name in names if name not in header]:
                listed = ", ".join(header[:20]) + (", …" if len(header) > 20 else "")
                raise InputError(
                    f"{self.path} has no column {lost[0]} (options → {option}); "
                    f"{hint(lost[0], header)}It has: {listed}"
                )
        parts = [name for pattern in self.parts.values() for name in pattern.groupindex]
        self.picked = list(self.choose([*header, *(n for n in parts if n not in header)]))
        picked = [name for name in self.picked if name in header]
        return list(dict.fromkeys([*picked, *self.rows, *self.parts]))

    def select(self, table: Table) -> Table:
        """Return the rows with a permitted value in each column of `rows`, and the selected columns.

        Whole numbers are compared as labels: "01" is 1.
        """
        for name, values in self.rows.items():
            plain = all_visible(table[name]).map(plain_label)
            self.seen[name] |= dict.fromkeys(plain)
            out = ~plain.isin([plain_label(value) for value in values])
            table = table.without(out, f"whose {name} is not {' or '.join(values)}")
        frame = table.frame
        for column, pattern in self.parts.items():
            frame = frame.assign(**self._parts(table, frame[column], pattern))
        return replace(table, frame=frame[[name for name in frame if name in self.picked]])

    def _parts(self, table: Table, labels: pd.Series, pattern: re.Pattern) -> dict[str, pd.Series]:
        """Return the parts of labels; InputError for a label that does not match the pattern."""
        matches = {label: pattern.fullmatch(label) for label in labels.unique()}
        if wrong := [label for label, match in matches.items() if match is None]:
            line = labels.index[int(np.argmax(labels == wrong[0]))]
            table.fail(line, f"{labels.name} is {wrong[0]!r}, which options → parts does not fit")
        return {
            name: labels.map({label: match[name] for label, match in matches.items()}).astype("str")
            for name in pattern.groupindex
        }

    def check(self) -> None:
        """Raise InputError for a value of `rows` that no table has."""
        for name, values in self.rows.items():
            there = self.seen[name]
            for value in values:
                if plain_label(value) not in there:
                    shown = ", ".join(map(repr, [*there][:8])) or "no rows"
                    raise InputError(
                        f"{self.path}: no row has {value!r} as {name}, which options → rows names; "
                        f"there are {shown}"
                    )


def _of_archive(path: Path, pattern: str, style: Style, choice: _Choice) -> Table:
    """Read and concatenate the tables of a zip archive, with labels from file names as columns."""
    tables = []
    for member in streamed.members(path, pattern):
        selected = choice.select(_of_member(member, style, choice))
        if len(selected.frame):
            tables.append((member.name, selected))
    choice.check()
    if not tables:
        raise InputError(f"{path}: the tables of options → members have no rows")
    return tables[0][1] if len(tables) == 1 else strict_tables.join_tables(path, tables)


def _of_member(member: streamed.Member, style: Style, choice: _Choice) -> Table:
    """Read the selected columns of one table of an archive; from a large one, only selected rows."""
    stated: list[str] = []

    def own(header: list[str]) -> list[str]:
        chosen = choice([*header, *(name for name in member.labels if name not in header)])
        stated[:] = [name for name in chosen if name not in header]
        return [name for name in chosen if name in header]

    if member.size > streamed.LARGE:
        rows = {n: v for n, v in choice.rows.items() if n not in member.labels}
        table = streamed.read(member.path, member.open, style.separator, style.encoding, own, rows)
    else:
        table = of_text(member.path, member.content(), style, own)
    labels = {name: member.labels[name] for name in stated}
    return Table(table.path, table.frame.assign(**labels).astype("str"))


def named(header: Iterable[str]) -> list[str]:
    """Return normalised column names: visible characters, none empty."""
    names = [visible(name) for name in header]
    return [name or f"unnamed_{number}" for number, name in enumerate(names, start=1)]


def separator_of(text: str) -> str:
    """Detect the separator of a delimited text: most first lines have the same number of fields, as the header."""
    lines = [line for line in text.splitlines()[:_LOOKED_AT] if line.strip()]
    cuts = {}
    for separator in _CHOICE:
        if separator in _RARE and cuts:
            break
        try:
            aligned = separator == " "
            rows = list(
                csv.reader(
                    map(str.strip, lines) if aligned else lines,
                    delimiter=separator,
                    skipinitialspace=aligned,
                )
            )
        except csv.Error:
            continue
        counts = [len(row) for row in rows]
        width, rows_of_it = Counter(counts).most_common(1)[0] if counts else (0, 0)
        if width > 1:  # lines above the header may have fewer
            of_header = counts[0] == width
            share = rows_of_it / len(counts)
            cuts[separator] = (of_header, share, -_CHOICE.index(separator))
    return max(cuts, key=cuts.get) if cuts else ","


def _whole(path: Path) -> None:
    """Raise InputError for a missing or empty file."""
    try:
        size = path.stat().st_size
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    if not size:
        raise InputError(f"{path} is empty; get the file again")


def _pick_columns(path: Path, header: list[str], choose: Callable) -> list[str]:
    """Return the selected columns; InputError if one is duplicate."""
    chosen, counts = list(dict.fromkeys(choose(header))), Counter(header)
    for name in chosen:
        if counts[name] > 1:
            raise InputError(
                f"{path}, line 1: the header has {name} {counts[name]} times; give each column a name of its own"
            )
    return chosen


def of_text(path: Path, data: bytes, style: Style, choose: Callable = list) -> Table:
    """Read a delimited text or a file of experiment software; `path` is its name in errors."""
    text = _decode(path, data, style.encoding)
    table = instruments.decode(
        path,
        text,
        lambda body, before: _read_delimited(path, body, style, list, before),
        style.rows or (),
    )
    if table is None:
        title = _EXCEL_SEPARATOR.match(text)
        if (ruled := _without_rule(text)) is not None:
            return _read_delimited(path, ruled, replace(style, separator="\t"), choose, before=1)
        if title is not None:
            style = replace(style, separator=style.separator or title[1])
            return _read_delimited(path, text[title.end() :], style, choose, before=1)
        comments = _comments(text)
        if comments:
            warn(path, f"{comments} lines that begin with # left out, above the columns' names")
            text = text.split("\n", comments)[-1]
        return _read_delimited(path, text, style, choose, before=comments)
    frame = table.frame.set_axis(named(table.frame.columns), axis=1)
    return replace(table, frame=frame[_pick_columns(path, list(frame.columns), choose)])


def _without_rule(text: str) -> str | None:
    """Return a table of Markdown, Org or a database's shell, separated by tabs; None for another text."""
    first, rule, rest = (re.sub(r"\n\(\d+ rows?\)\s*$", "\n", text).split("\n", 2) + ["", ""])[:3]
    if "|" not in first or not re.fullmatch(r"[|+:\s-]*(--|:-|-:)[|+:\s-]*", rule):
        return None
    if first.lstrip().startswith("|"):
        first, rest = (
            re.sub(r"(?m)^[ \t]*\|[ \t]*|[ \t]*(?<!\\)\|\s*?$", "", part) for part in (first, rest)
        )
    return re.sub(r"[ \t]*(?<!\\)\|[ \t]*", "\t", f"{first}\n{rest}").replace("\\|", "|")


def _comments(text: str) -> int:
    """Return the number of first lines that begin with # and are no header: they have other columns."""
    lines = text[: text.find("\n", 10_000)].split("\n")
    count = next((n for n, line in enumerate(lines) if not line.startswith("#")), 0)
    separator = separator_of("\n".join(lines[count:]))
    own = any(line.count(separator) == lines[count].count(separator) for line in lines[:count])
    return 0 if own else count


_DOCUMENTS = {"content.xml": "an OpenDocument file", "word/document.xml": "a Word document"}
_EXCEL_SEPARATOR = re.compile(r'"?sep=(.)"?(?:\r\n|\r|\n)', re.IGNORECASE)
_OTHERS = {
    r"%PDF-": "a PDF",
    r"(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html)\b": "a web page (HTML)",
    r"<\?xml\b": "XML",
    r"\{\\rtf": "a text with formatting (RTF)",
    r"\x80[\x02-\x05]": "a pickle of Python, which may hold code",
    r"SQLite format 3": "a database of SQLite",
    r"\x93NUMPY": "an array of NumPy",
    r"MATLAB \d": "a file of MATLAB",
    r"\x89HDF": "a file of HDF5",
    r"version https://git-lfs\.github\.com/spec": "a pointer of Git LFS, whose file is elsewhere",
}


def _decode(path: Path, data: bytes, encoding: str) -> str:
    """Return a text with line feeds; InputError for a file of another kind, by its name."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        try:
            data = data.decode("utf-16").encode()
        except UnicodeDecodeError as error:
            raise InputError(
                f"{path} is UTF-16 text with a damaged place, byte {error.start:,}; get it again"
            ) from None
        encoding = "utf-8"
    head = data[:2048].decode("latin-1").lstrip("\xef\xbb\xbf \r\n\t")
    for beginning, kind in _OTHERS.items():
        if re.match(beginning, head, re.IGNORECASE | re.DOTALL):
            raise InputError(f"{path} is {kind}, no table; get the table itself, or save it as CSV")
    text = strict_tables.decode(path, data, encoding)
    if not text.strip():
        raise InputError(f"{path} is empty; get the file again")
    return text if "\n" in text or "\r" not in text else text.replace("\r", "\n")


def _read_delimited(
    path: Path, text: str, style: Style, choose: Callable, before: int = 0
) -> Table:
    """Read a delimited text that stands below some lines of its file."""
    separator = style.separator or separator_of(text)
    if separator == " " and '"' not in text:  # columns are aligned by spaces
        text = re.sub(r"(?m)^ +| +$|(?<= ) +", "", text)
    if re.match(rf'"[^"\n]*"{re.escape(separator)} +"', text):  # "a", "b"
        text = re.sub(rf'(?<={re.escape(separator)}) +(?=")', "", text)
    first = text.splitlines()[0] if text else ""
    if not first.strip():
        raise InputError(f"{path}, line {before + 1} is empty; the columns' names stand there")
    quoted = separator != "\t" or strict_tables.quoted_by_need([text])
    row = strict_tables.header_fields(path, first, separator, quoted)
    if len(row) < 2 or not all(row):
        top = text.splitlines()[:_LOOKED_AT]
        strict_tables.require_header(path, csv.reader(top, delimiter=separator), before)
    if _has_row_names(text, separator, quoted, len(row)):
        row = ["", *row]
        strict_tables.warn(
            path,
            f"{len(row)} fields a row and {len(row) - 1} names: the first are names of rows, as R writes "
            "them, and the header is of the others",
        )
    header = named(row)
    if any(not visible(name) for name in row):  # every column needs a name
        written = ['"' + name.replace('"', '""') + '"' for name in header] if quoted else header
        text = text.replace(first, separator.join(written), 1)
    chosen = _pick_columns(path, header, choose)
    return strict_tables.read(
        *(path, chosen), separator=separator, quoted=quoted, before=before,
        data=text.encode("utf-8", "replace"),
    )  # fmt: skip


def _has_row_names(text: str, separator: str, quoted: bool, width: int) -> bool:
    """Return whether rows begin with R's names, which `write.table` gives no name in the header.

    They are whole numbers, all different. A separator at the end of each row makes a field more, too,
    but an empty one.
    """

    def rows() -> Iterator[list[str]]:
        quoting = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
        return csv.reader(io.StringIO(text, newline=""), delimiter=separator, quoting=quoting)

    try:
        if len(next(itertools.islice(rows(), 1, None), [])) != width + 1:
            return False
        body = [row for row in itertools.islice(rows(), 1, None) if row]
    except csv.Error:
        return False
    names = {row[0] for row in body}
    whole = len(names) == len(body) and all(name.isdigit() for name in names)
    return whole and any(row[-1] for row in body)


def _parquet_rows(path: Path, choose: Callable, rows: Mapping[str, Sequence[str]]) -> Table | None:
    """Read the rows of a Parquet file with given texts in columns; None if more processing is needed.

    So a file of many LMs is not read whole. Lines are numbers of these rows, from 1.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not _is_parquet(path):
        return None
    parquet_bounds.require_room(path, str(path))
    try:
        schema = pq.read_schema(path)
        names = named(schema.names)
        texts = {field.name for field in schema if pa.types.is_string(field.type)}
        if names != schema.names or not rows.keys() <= texts:
            return None
        chosen = _pick_columns(path, names, choose)
        kept = [(name, "in", list(values)) for name, values in rows.items() if values]
        frame = pq.read_table(path, columns=chosen, filters=kept).to_pandas()
    except (pa.ArrowException, OSError):
        return None
    if frame.empty:
        return None
    frame = frame.reset_index(drop=True)
    return Table(path, strict_tables.as_text(path, frame.set_axis(range(1, len(frame) + 1))))


def _columnar(path: Path, data: bytes, choose: Callable) -> Table:
    """Read Parquet or Feather; lines are numbers of rows, from 1."""
    kind = "Parquet" if data[:4] == b"PAR1" else "Feather"
    if kind == "Parquet":
        parquet_bounds.require_room(data, str(path))
    try:
        reader = pd.read_parquet if kind == "Parquet" else pd.read_feather
        frame = reader(io.BytesIO(data))
    except (ValueError, OSError, MemoryError, NotImplementedError) as error:  # PyArrow's too
        reason = " ".join(str(error).split())[:150]
        raise InputError(f"{path} is no whole {kind} file ({reason}); get it again") from None
    if not isinstance(frame.index, pd.RangeIndex):
        frame = frame.reset_index()
    header = named(str(name) for name in frame.columns)
    chosen = _pick_columns(path, header, choose)
    if frame.empty:
        raise InputError(f"{path} has no rows")
    frame = frame.set_axis(header, axis=1)[chosen]
    return Table(path, strict_tables.as_text(path, frame.set_axis(range(1, len(frame) + 1))))
