"""Reading one sheet of an Excel workbook as text, with nothing but the standard library."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from xml.etree import ElementTree

import pandas as pd

from recency.errors import InputError
from recency.names import hint
from recency.reading.tables import Table

_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"


def is_workbook(path: Path) -> bool:
    """Say whether a file is an .xlsx workbook, whatever it is called."""
    return zipfile.is_zipfile(path) and "xl/workbook.xml" in zipfile.ZipFile(path).namelist()


def read(path: Path, sheet: str, columns: Iterable[str]) -> Table:
    """Read `columns` of `sheet`; rows stand for lines. Raises InputError for what is absent."""
    columns = list(columns)
    with zipfile.ZipFile(path) as book:
        member = _member(path, book, sheet)
        rows = _rows(book, member, _strings(book))
        _, header = next(rows, (0, {}))
        places = {name: place for place, name in header.items()}
        for name in columns:
            if name not in places:
                known = f"{hint(name, places)}It has: {', '.join(header.values())}"
                raise InputError(f"{path}, sheet {sheet}, has no column {name}; {known}")
        wanted = [places[name] for name in columns]
        lines, records = [], []
        for number, cells in rows:
            if any(cells.values()):
                lines.append(number)
                records.append([cells.get(place, "").strip() for place in wanted])
    if not records:
        raise InputError(f"{path}, sheet {sheet}, has no rows")
    return Table(path, pd.DataFrame(records, columns=columns, index=lines, dtype="str"))


def _member(path: Path, book: zipfile.ZipFile, sheet: str) -> str:
    """Find the file of a sheet inside the workbook."""
    found = ElementTree.fromstring(book.read("xl/workbook.xml")).iter(f"{_MAIN}sheet")
    sheets = {element.get("name"): element.get(_RELATION) for element in found}
    if sheet not in sheets:
        raise InputError(f"{path} has no sheet {sheet}; it has: {', '.join(sheets)}")
    relations = ElementTree.fromstring(book.read("xl/_rels/workbook.xml.rels"))
    targets = {relation.get("Id"): relation.get("Target") for relation in relations}
    target = targets[sheets[sheet]]
    return target.lstrip("/") if target.startswith("/") else f"xl/{target}"


def _strings(book: zipfile.ZipFile) -> list[str]:
    if "xl/sharedStrings.xml" not in book.namelist():
        return []
    root = ElementTree.fromstring(book.read("xl/sharedStrings.xml"))
    return ["".join(t.text or "" for t in entry.iter(f"{_MAIN}t")) for entry in root]


def _rows(
    book: zipfile.ZipFile, member: str, strings: list[str]
) -> Iterator[tuple[int, dict[str, str]]]:
    """Give each row's number and its cells by column letter."""
    with book.open(member) as stream:
        for number, (_, row) in enumerate(
            ((event, e) for event, e in ElementTree.iterparse(stream) if e.tag == f"{_MAIN}row"),
            start=1,
        ):
            cells = {}
            for at, cell in enumerate(row.iter(f"{_MAIN}c")):
                letters = (cell.get("r") or "").rstrip("0123456789") or f"#{at}"
                value = cell.findtext(f"{_MAIN}v") or ""
                if cell.get("t") == "s":
                    value = strings[int(value)]
                elif cell.get("t") == "inlineStr":
                    value = "".join(t.text or "" for t in cell.iter(f"{_MAIN}t"))
                cells[letters] = value
            yield int(row.get("r") or number), cells
            row.clear()
