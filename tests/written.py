"""How pages write: their text in one line, the cells of their tables, numbers; and stored benchmarks."""

import json
import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1] / "docs"
RESULTS = DOCS.parent / "benchmarks" / "results"
TABLE = re.compile(
    r"^(?:<!-- numbers of: (?P<files>.*?) -->\n\n)?(?P<head>\|.*\n)\|[-| :]+\|\n(?P<rows>(?:\|.*\n?)+)",
    re.MULTILINE,
)


def said(page):
    """Return a page's text as one line."""
    return " ".join((DOCS / page).read_text(encoding="utf-8").split())


def split(line):
    """Return the cells of a table's line, without marks of emphasis around them."""
    return [cell.strip().strip("*") for cell in line.strip().strip("|").split("|")]


def tables(page):
    """Return each table of a page: its marked files, the cells of its header, and of its rows."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return [
        (
            (found["files"] or "").split(),
            split(found["head"]),
            [split(row) for row in found["rows"].splitlines()],
        )
        for found in TABLE.finditer(text)
    ]


def cells(page, *head):
    """Return the rows of the only table of a page whose header begins with these cells."""
    (rows,) = (rows for _, header, rows in tables(page) if header[: len(head)] == [*head])
    return rows


def number(value, digits=0, sign=False):
    """Return a number as pages write it: thousands separated, a real minus sign."""
    return f"{value:{'+' if sign else ''},.{digits}f}".replace("-", "−")


def percent(share):
    """Return a share in whole percent."""
    return number(100 * share)


def between(value, low, high, digits=0, sign=False):
    """Return a value with its interval."""
    return f"{number(value, digits, sign)} ({number(low, digits)} to {number(high, digits)})"


def run_of(name):
    """Return what a stored benchmark measured."""
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))["metrics"]
