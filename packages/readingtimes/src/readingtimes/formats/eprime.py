"""E-Prime: logs of a session, and the tables that E-DataAid exports."""

import re
from pathlib import Path

import pandas as pd

from readingtimes.errors import InputError
from readingtimes.strict_tables import Table

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


def read(path: Path, text: str) -> Table:
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
                _unended(path, started, number)
            if match[2] == "Start":
                what, started, values = match[1], number, {}
                levels = [] if what == "Header" else levels
                continue
            if what == "Header":
                header, within = values, []
            else:
                within = _closed(level, started, values, header, levels, within, rows)
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
        _unended(path, started, number)
    if not rows:
        raise InputError(f"{path} is a log of E-Prime without frames; get the file again")
    frame = pd.DataFrame([row for _, row in rows], index=[line for line, _ in rows])
    return Table(path, frame.fillna("").astype("str"))


def _closed(
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


def _unended(path: Path, started: int, number: int) -> None:
    raise InputError(
        f"{path}, line {number}: the frame that begins on line {started or number} has no end; "
        "the log looks cut off: get it again"
    )
