"""Results of Ibex and PCIbex, whose comments name the columns of the rows that follow."""

import csv
import re
from pathlib import Path
from urllib.parse import unquote

import pandas as pd

from readingtimes.errors import InputError
from readingtimes.strict_tables import Table, visible, warn

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


def read(path: Path, text: str) -> Table:
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


def kind(table: Table) -> str:
    """Return the column that has the kind of each row."""
    return "PennElementType" if "PennElementType" in table else "Controller name"


def _word(record: dict[str, str]) -> dict[str, str]:
    """Return a row with one name for each thing: PCIbex's word and its number, the Maze's times."""
    names = _MAZE
    if "Reading time" in record and "Parameter" in record:
        names = {"Parameter": "Word number", "Value": "Word"}
    return {names.get(name, name): value for name, value in record.items()}
