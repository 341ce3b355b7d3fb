"""Read a sheet of an Excel workbook as text, by openpyxl.

openpyxl streams rows: GECO's 760,000 rows of 60 columns fit in any memory. python-calamine is ten
times as fast, but holds the sheet, 80 bytes a cell, which would be 4 GB.
"""

import itertools
import zipfile
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path

import pandas as pd

from readingtimes.errors import InputError
from readingtimes.names import hint
from readingtimes.strict_tables import Table, require_header, visible

_TOP = 20
"""Rows among which the header is looked for."""
_DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, EOFError, LookupError, SyntaxError, ValueError),
    *(TypeError, AttributeError, NotImplementedError),
)


def members(path: Path) -> list[str]:
    """Return the names of a zip archive's members; none for another or a damaged file."""
    try:
        return zipfile.ZipFile(path).namelist() if zipfile.is_zipfile(path) else []
    except (*_DAMAGE, OSError):
        return []  # reported when the file is read


def is_workbook(path: Path) -> bool:
    """Return whether a file is an .xlsx workbook, independent of its name."""
    return "xl/workbook.xml" in members(path)


def sheets(path: Path) -> list[str]:
    """Return the names of a workbook's sheets; none of another file."""
    from openpyxl import load_workbook

    return load_workbook(path, read_only=True).sheetnames if is_workbook(path) else []


def read(
    path: Path, sheet: str | None, columns: Iterable[str] | Callable[[list[str]], Iterable[str]]
) -> Table:
    """Read `columns` of `sheet`, whose first row is the header; lines are row numbers.

    `sheet` None is the first one; `columns` may be chosen from their names by a function. Raises
    InputError for an absent sheet or column, a sheet without rows and a damaged file.
    """
    from openpyxl import load_workbook

    try:
        with open(path, "rb") as file:
            book = load_workbook(file, read_only=True, data_only=True)
            sheet = book.sheetnames[0] if sheet is None else sheet
            if sheet not in book.sheetnames:
                raise InputError(
                    f"{path} has no sheet {sheet}; it has: {', '.join(book.sheetnames)}"
                )
            page = book[sheet]
            page.reset_dimensions()  # openpyxl trusts them, but some programs write wrong ones
            return _table(path, sheet, page.iter_rows(values_only=True), columns)
    except InputError:
        raise
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    except _DAMAGE as error:
        raise InputError(f"{path} is damaged ({error}); get it again") from error


def _table(path: Path, sheet: str, rows: Iterable[tuple], columns) -> Table:
    """Select the columns of a sheet's non-empty rows."""
    rows = iter(rows)
    top = list(itertools.islice(rows, _TOP))
    require_header(path, [[_text(cell) for cell in row] for row in top])
    rows = enumerate(itertools.chain(top, rows), start=1)
    _, header = next(rows, (0, ()))
    names = [
        (visible(_text(name)), column_number)
        for column_number, name in enumerate(header)
        if name is not None
    ]
    places = dict(reversed(names))  # the first of duplicate names
    columns = list(columns([name for name, _ in names]) if callable(columns) else columns)
    for name in columns:
        if name not in places:
            way_out = f"{hint(name, places)}It has: {', '.join(places)}"
            raise InputError(f"{path}, sheet {sheet}, has no column {name}; {way_out}")
    wanted = [places[name] for name in columns]
    lines, records = [], []
    for number, row in rows:
        if any(cell not in (None, "") for cell in row):
            lines.append(number)
            records.append([_text(row[at]) if at < len(row) else "" for at in wanted])
    if not records:
        raise InputError(f"{path}, sheet {sheet}, has no rows")
    return Table(path, pd.DataFrame(records, columns=columns, index=lines, dtype="str"))


def _text(cell: object) -> str:
    """Format a cell as Excel shows it: empty cells as "", booleans in capitals."""
    if cell is None:
        return ""
    return str(cell).upper() if isinstance(cell, bool) else str(cell).strip()
