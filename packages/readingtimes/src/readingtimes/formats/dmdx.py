"""DMDX's .azk files: a block of items and times per subject."""

import re
from pathlib import Path

import pandas as pd

from readingtimes.errors import InputError
from readingtimes.strict_tables import Table, warn

_HEAD = re.compile(r"Subjects incorporated to date:\s*(\d+)")
_SUBJECT = re.compile(r"Subject (\d+),.*?\bID\s*(\S*)\s*")
_COLUMNS = re.compile(r"Item\s+RT(\s+COT)?")


def is_azk(head: str) -> bool:
    """Return whether a text is an .azk file."""
    return _HEAD.search(head[:2000]) is not None or (
        re.search(r"^\s*Subject \d+,.*\bID\b", head, re.MULTILINE) is not None
        and re.search(r"^\s*Item\s+RT\b", head, re.MULTILINE) is not None
    )


def read(path: Path, text: str) -> Table:
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
