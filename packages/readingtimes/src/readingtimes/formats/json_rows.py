"""Rows of JSON: an array of objects, an object per line, or an array per reader."""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pandas as pd

from readingtimes.errors import InputError
from readingtimes.strict_tables import Table, visible

RUN = "run"
"""The column that numbers the arrays of a file with several, each of a reader."""


def is_json(head: str) -> bool:
    """Return whether a text is of JSON's objects or arrays of them."""
    return re.match(r"\s*(?:\[\s*)*\{\s*[\"}]", head) is not None


def read(path: Path, text: str) -> Table:
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
        inner = [v for v in whole.values() if isinstance(v, list) and v and isinstance(v[0], dict)]
        whole = inner[0] if len(inner) == 1 else [whole]
    yield from _flat(enumerate(whole, 1))


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
