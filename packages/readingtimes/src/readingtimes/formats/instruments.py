"""Files of experiment software, known by their content and read as tables with a row per word.

An instrument is a format of its own (DMDX's blocks of items and times, Ibex's comments that name
columns, JSON's rows or arrays, E-Prime's logs), or a delimited table with the program's names of
columns.
"""

import csv
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import unquote

import pandas as pd

from readingtimes.errors import InputError
from readingtimes.formats import trials
from readingtimes.strict_tables import Table, visible, warn

_HEAD = re.compile(r"Subjects incorporated to date:\s*(\d+)")
_SUBJECT = re.compile(r"Subject (\d+),.*?\bID\s*(\S*)\s*")
_COLUMNS = re.compile(r"Item\s+RT(\s+COT)?")


def is_azk(head: str) -> bool:
    """Return whether a text is an .azk file."""
    return _HEAD.search(head[:2000]) is not None or (
        re.search(r"^\s*Subject \d+,.*\bID\b", head, re.MULTILINE) is not None
        and re.search(r"^\s*Item\s+RT\b", head, re.MULTILINE) is not None
    )


def read_dmdx(path: Path, text: str) -> Table:
    """Read subject, item, rt (ms) and correct; a response that was wrong or late has no rt.

    DMDX writes its time below 0, which is in `signed`.

    Raises
    ------
    InputError
        For a line that is neither, a block without the names of its columns, and fewer subjects
        than the file says.
    """
    subject, columns, lines, records, comments = "", 0, [], [], 0
    subjects: dict[str, int] = {}
    stated = _HEAD.search(text)
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line.startswith(("***", "Data file")) or _HEAD.match(line):
            continue
        if line.startswith("!"):
            comments += 1
        elif (match := _SUBJECT.fullmatch(line)) is not None:
            subject, columns = match[2] or match[1], 0
            if subject in subjects:
                raise InputError(
                    f"{path}, line {number}: subject {subject} again, as on line "
                    f"{subjects[subject]}; "
                    "give each another ID, or take one out"
                )
            subjects[subject] = number
        elif (match := _COLUMNS.fullmatch(line)) is not None:
            columns = 3 if match[1] else 2
        else:
            fields = line.replace(",", " ").split()
            if not subject or not columns or len(fields) != columns:
                raise InputError(
                    f"{path}, line {number}: {line[:40]!r} is no item with its time; "
                    "get the file again"
                )
            item, time = fields[:2]
            wrong = time.startswith("-")
            lines.append(number)
            records.append((subject, item, "" if wrong else time, str(not wrong).lower(), time))
    if stated is not None and len(subjects) < int(stated[1]):
        raise InputError(
            f"{path}: {len(subjects)} subjects, and its first lines say {int(stated[1])}; the file "
            "looks cut off: get it again"
        )
    if not records:
        raise InputError(f"{path} has no items; get the file again")
    if comments:
        warn(path, f"{comments:,} messages of DMDX (lines with !) left out")
    names = ["subject", "item", "rt", "correct", "signed"]
    frame = pd.DataFrame(records, columns=names, index=lines, dtype="str")
    if (late := frame.correct == "false").any():
        warn(path, f"{late.sum():,} responses below 0 are errors: they have no rt")
    return Table(path, frame)


_COLUMN = re.compile(r"#\s*(\d{1,3})\. ?(.+?)\.?\s*")
_CELLS = re.compile(r",(?=\"?#\s*\d)")
_WHEN, _WHO = "Results reception time", "MD5 hash of participant's IP address"
SUBJECT = "subject"
_MAZE = {
    "Reading time to first answer": "Maze time",
    "Total time to correct answer": "Maze time until correct",
}


def is_results(head: str) -> bool:
    """Return whether a text begins with comments that name columns."""
    lines = [line for line in head.splitlines()[:200] if line.strip()]
    if not lines or not lines[0].startswith(("#", '"#')):
        return False
    cells = [cell.strip('"') for line in lines for cell in _CELLS.split(line)]
    return any((match := _COLUMN.fullmatch(cell)) and match[1] == "1" for cell in cells)


def read_ibex(path: Path, text: str) -> Table:
    """Read all rows; a column that the rows of a controller lack is "" there.

    The comments before a row name its columns; those that they do not repeat are as before. A
    reader is a time of reception and an address: readers in a laboratory share theirs.

    Raises
    ------
    InputError
        For a row with fields that no comment names, and for a last one that is cut off.
    """
    names: dict[int, str] = {}
    lines, records, widths = [], [], {}
    rows, ended = text.splitlines(), text.endswith(("\n", "\r"))
    is_csv = len(_CELLS.split(rows[0])) > 1  # its header is the comments, and commas are in quotes
    for number, row in enumerate(rows, 1):
        if row.startswith(("#", '"#')):
            for cell in _CELLS.split(row):
                if (match := _COLUMN.fullmatch(cell.strip('"'))) is not None:
                    names[int(match[1])] = visible(match[2])
            continue
        if not row.strip():
            continue
        fields = next(csv.reader([row])) if is_csv else row.split(",")
        known = [names.get(n) for n in range(1, len(fields) + 1)]
        if None in known:
            raise InputError(
                f"{path}, line {number}: {len(fields)} fields, and no comment names column "
                f"{known.index(None) + 1}; get the file again"
            )
        record = dict(zip(known, map(unquote, fields), strict=True))
        kind = (record.get("Controller name"), record.get("PennElementType"))
        if number == len(rows) and not ended and len(fields) not in widths.get(kind, ()):
            raise InputError(
                f"{path}, line {number}: no end of line, and {len(fields)} fields, which no row "
                "before it has; the file looks cut off: get it again"
            )
        widths.setdefault(kind, set()).add(len(fields))
        lines.append(number)
        records.append(_word(record))
    if not records:
        raise InputError(f"{path} has comments but no rows; get the file again")
    if not ended:
        warn(path, f"line {lines[-1]} has no end of line; if the file was cut off, get it again")
    frame = pd.DataFrame(records, index=lines).fillna("").astype("str")
    if SUBJECT not in frame and {_WHEN, _WHO} <= {*frame}:
        frame[SUBJECT] = frame[_WHEN] + " " + frame[_WHO]
    return Table(path, frame.apply(lambda column: column.str.strip()))


def column_of_kinds(table: Table) -> str:
    """Return the column that has the kind of each row."""
    return "PennElementType" if "PennElementType" in table else "Controller name"


def _word(record: dict[str, str]) -> dict[str, str]:
    """Return a row with one name for each thing: PCIbex's word and its number, the Maze's times."""
    names = _MAZE
    if "Reading time" in record and "Parameter" in record:
        names = {"Parameter": "Word number", "Value": "Word"}
    return {names.get(name, name): value for name, value in record.items()}


RUN = "run"
"""The column that numbers the arrays of a file with several, each of a reader."""


def is_json(head: str) -> bool:
    """Return whether a text is of JSON's objects or arrays of them."""
    return re.match(r"\s*(?:\[\s*)*\{\s*[\"}]", head) is not None


def read_json(path: Path, text: str) -> Table:
    """Read the rows, as text; lists and objects within them stay JSON, and missing values are "".

    Rows are known by their lines where each has one, else by their numbers.
    """
    rows = list(_rows(path, text))
    if not rows:
        raise InputError(f"{path} has no rows; get the file again")
    runs = {run for _, run, _ in rows}
    records, names = [], {}
    for line, run, row in rows:
        if not isinstance(row, dict):
            raise InputError(
                f"{path}, row {line}: {str(row)[:40]!r} is no object with named values"
            )
        record = {visible(str(name)): _text(value) for name, value in row.items()}
        if len(runs) > 1:
            record.setdefault(RUN, str(run))
        records.append(record)
        names |= dict.fromkeys(record)
    frame = pd.DataFrame(
        records, columns=[*names], index=[line for line, _, _ in rows], dtype="str"
    )
    return Table(path, frame.fillna("").astype("str"))


def _rows(path: Path, text: str) -> Iterator[tuple[int, int, object]]:
    """Yield number, run and value of each row."""
    try:
        whole = json.loads(text)
    except ValueError as error:
        yield from _of_lines(path, text, error)
        return
    if isinstance(whole, dict):
        if (rows := _of_columns(whole)) is not None:
            yield from _flat(enumerate(rows, 1))
            return
        inner = [v for v in whole.values() if isinstance(v, list) and v and isinstance(v[0], dict)]
        whole = inner[0] if len(inner) == 1 else [whole]
    yield from _flat(enumerate(whole, 1))


def _of_columns(whole: dict) -> list[dict] | None:
    """Return the rows of an object of columns of equal length, as pandas writes; None for another."""
    if {"columns", "data"} <= whole.keys():
        return [dict(zip(whole["columns"], row, strict=True)) for row in whole["data"]]
    columns = [[*c.values()] if isinstance(c, dict) else c for c in whole.values()]
    if len(columns) < 2 or not all(isinstance(c, list) and len(c) > 1 for c in columns):
        return None
    if len({*map(len, columns)}) > 1 or any(isinstance(v, list | dict) for c in columns for v in c):
        return None
    return [dict(zip(whole, row, strict=True)) for row in zip(*columns, strict=True)]


def _of_lines(path: Path, text: str, whole_error: ValueError) -> Iterator[tuple[int, int, object]]:
    """Yield the rows of a text with a value per line."""
    values = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            values.append((number, json.loads(line)))
        except ValueError as error:
            where = error if values else whole_error  # one value over several lines, or one a line
            at = number if values else getattr(whole_error, "lineno", 1)
            raise InputError(
                f"{path}, line {at}: JSON that breaks off or is damaged "
                f"({getattr(where, 'msg', where)}); get the file again"
            ) from None
    yield from _flat(values)


def _flat(values: Iterable[tuple[int, object]]) -> Iterator[tuple[int, int, object]]:
    """Yield the rows, of arrays within, too, which are runs; with any, rows are numbered."""
    values = list(values)
    if not any(isinstance(value, list) for _, value in values):
        yield from ((line, 1, value) for line, value in values)
        return
    rows = [
        (run, row)
        for run, (_, value) in enumerate(values, 1)
        for row in (value if isinstance(value, list) else [value])
    ]
    yield from ((number, run, row) for number, (run, row) in enumerate(rows, 1))


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value.strip()
    return json.dumps(value, ensure_ascii=False)


_FRAME = re.compile(r"\*\*\* (Header|LogFrame) (Start|End) \*\*\*")


def is_log(head: str) -> bool:
    """Return whether a text is a log of E-Prime."""
    return head.lstrip().startswith("*** Header Start ***")


def is_export(head: str) -> bool:
    """Return whether a text is a table of E-DataAid, below a line with the file's name or not."""
    return any(
        {"ExperimentName", "Subject", "Session"} <= {*line.replace('"', "").split("\t")}
        for line in head.splitlines()[:2]
    )


def read_eprime(path: Path, text: str) -> Table:
    """Read a row per innermost frame, known by the line on which it begins.

    A frame of a trial or block follows those within it, which have its values as well; a name that
    both have is the inner one's, and the outer's has the level's name in brackets, as in E-DataAid.

    Raises
    ------
    InputError
        For a frame that does not end.
    """
    levels: list[str] = []
    header: dict[str, str] = {}
    rows: list[tuple[int, dict[str, str]]] = []
    within: list[tuple[int, dict[str, str]]] = []  # level of the last frame around it, and row
    level, started, what, values = 1, 0, "", {}
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if (match := _FRAME.fullmatch(line)) is not None:
            if (match[2] == "Start") == bool(what) or (what and match[1] != what):
                _refuse_unended(path, started, number)
            if match[2] == "Start":
                what, started, values = match[1], number, {}
                levels = [] if what == "Header" else levels
                continue
            if what == "Header":
                header, within = values, []
            else:
                within = _close_frame(level, started, values, header, levels, within, rows)
            what = ""
            continue
        name, _, value = line.partition(":")
        name, value = name.strip(), value.strip()
        if what == "Header" and name == "LevelName":
            levels.append(value)
        elif what and name:
            values[name] = value
        elif name == "Level":
            level = int(value) if value.isdigit() else level
    if what:
        _refuse_unended(path, started, number)
    if not rows:
        raise InputError(f"{path} is a log of E-Prime without frames; get the file again")
    frame = pd.DataFrame([row for _, row in rows], index=[line for line, _ in rows])
    return Table(path, frame.fillna("").astype("str"))


def _close_frame(
    level: int,
    line: int,
    values: dict[str, str],
    header: dict[str, str],
    levels: list[str],
    within: list[tuple[int, dict[str, str]]],
    rows: list[tuple[int, dict[str, str]]],
) -> list[tuple[int, dict[str, str]]]:
    """Give the values of a frame to the rows within it; without any it is a row itself."""
    inner = [row for of, row in within if of > level]
    name = levels[level - 1] if 0 < level <= len(levels) else str(level)
    for row in inner:
        for key, value in values.items():
            row[f"{key}[{name}]" if key in row and row[key] != value else key] = value
    outer = [(of, row) for of, row in within if of <= level]
    if inner:
        return [*outer, *((level, row) for row in inner)]
    row = {**values, **{key: value for key, value in header.items() if key not in values}}
    rows.append((line, row))
    return [*outer, (level, row)]


def _refuse_unended(path: Path, started: int, number: int) -> None:
    raise InputError(
        f"{path}, line {number}: the frame that begins on line {started or number} has no end; "
        "the log looks cut off: get it again"
    )


LOOKED_AT = 1 << 16
"""Characters of a file that tell its kind."""


@dataclass(frozen=True)
class Instrument:
    """A program: `is_of` tells its files by how they begin, `read` returns all rows.

    `read` None: a delimited table. `kind` is the column with the kind of each row, or a function
    that names it; `clocks` are columns of times that are of no word, and left out; `missing` is
    written where there is no word, the first of these that is there.
    """

    is_of: Callable[[str], bool]
    read: Callable[[Path, str], Table] | None = None
    kind: str | Callable[[Table], str] | None = None
    clocks: str = r"(?!)"
    missing: tuple[str, ...] = ()


def _names(*needed: str) -> Callable[[str], bool]:
    """Return whether a table's header has columns, given as patterns."""

    def is_of(head: str) -> bool:
        header = re.split(r"[,;\t]", head.lstrip("\ufeff").partition("\n")[0].replace('"', ""))
        return all(any(re.fullmatch(n, name.strip()) for name in header) for n in needed)

    return is_of


_JSPSYCH = r"time_elapsed|internal_node_id|plugin_version"
_EPRIME = r".*\.\w*(?:Time|Delay|Error|Duration)"

INSTRUMENTS = {
    "Ibex": Instrument(is_results, read_ibex, column_of_kinds, "EventTime|Results reception time"),
    "E-Prime": Instrument(is_log, read_eprime, "Procedure", _EPRIME, ("NULL",)),
    "E-DataAid": Instrument(is_export, None, "Procedure", _EPRIME, ("NULL",)),
    "DMDX": Instrument(is_azk, read_dmdx),
    "JSON": Instrument(is_json, read_json, "trial_type", _JSPSYCH),
    "jsPsych": Instrument(
        _names("trial_type", "trial_index"), None, "trial_type", _JSPSYCH, ("null", "undefined")
    ),
    "PsychoPy": Instrument(
        _names(r".*\.thisN|psychopyVersion", "participant|expName|date"),
        clocks=r".*\.(started|stopped|t)",
    ),
    "Gorilla": Instrument(
        _names("Participant Private ID", "Event Index|Zone Type|Reaction Time"), kind="Zone Type"
    ),
    "OpenSesame": Instrument(
        _names("subject_nr", r"subject_parity|opensesame_\w+|logfile|response_time(_\w+)?"),
        clocks=r"avg_rt|(average|total)_response_time|time_\w+|duration_\w+",
        missing=("NA", "None"),
    ),
}


def find(head: str) -> str | None:
    """Return the name of the instrument whose files begin as a text."""
    return next((name for name, each in INSTRUMENTS.items() if each.is_of(head)), None)


def decode(
    path: Path,
    text: str,
    delimited: Callable[[str, int], Table],
    chosen: Collection[str],
) -> Table | None:
    """Return the words of an instrument's file, all values text; None if it is no instrument's.

    Parameters
    ----------
    path : Path
        The file, for errors.
    text : str
        Its content.
    delimited : callable
        Reads all columns of a delimited text below a number of lines.
    chosen : collection of str
        Columns by which the user chooses rows.
    """
    name = find(text[:LOOKED_AT])
    if name is None:
        return None
    of = INSTRUMENTS[name]
    if of.read is not None:
        table = of.read(path, text)
    else:
        table = delimited(*_below_title(path, name, text))
    kind = of.kind(table) if callable(of.kind) else of.kind
    table = _with_readers(table) if name in ("JSON", "jsPsych") else table
    clocks = [c for c in table.frame.columns if re.fullmatch(of.clocks, c) and c not in chosen]
    table = replace(table, frame=table.frame.drop(columns=clocks))
    return trials.of_words(table, kind, chosen, of.missing)


_END = re.compile(r'\n"?END OF FILE"?[,;\t\s"]*\Z')


def _below_title(path: Path, name: str, text: str) -> tuple[str, int]:
    """Return a table's text without title and closing line, and the number of the title's lines."""
    if name == "Gorilla":
        if (end := _END.search(text)) is not None:
            return text[: end.start() + 1], 0
        warn(path, "no last row END OF FILE; if the file was cut off, get it again")
    first, _, rest = text.partition("\n")
    return (rest, 1) if name == "E-DataAid" and "\t" not in first else (text, 0)


def _with_readers(table: Table) -> Table:
    """Return a table that has readers: without their column, each is an array, or begins at trial 0."""
    frame = table.frame
    if trials.has_readers(frame):
        return table
    if RUN in frame:
        return replace(table, frame=frame.rename(columns={RUN: "subject"}))
    if "trial_index" not in frame:
        return table
    numbers = pd.to_numeric(frame.trial_index, errors="coerce")
    runs = (numbers.diff() <= 0).cumsum() + 1
    several = runs.iloc[-1] > 1  # else the file is one reader's, whom its name may tell
    return replace(table, frame=frame.assign(subject=runs.astype(str))) if several else table
