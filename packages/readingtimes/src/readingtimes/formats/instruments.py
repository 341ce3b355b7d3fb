"""Files of experiment software, known by their content and read as tables with a row per word.

An instrument is a format of its own, or a delimited table with the program's names of columns.
"""

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from readingtimes.formats import dmdx, eprime, ibex, json_rows, trials
from readingtimes.strict_tables import Table, warn

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
    "Ibex": Instrument(ibex.is_results, ibex.read, ibex.kind, "EventTime|Results reception time"),
    "E-Prime": Instrument(eprime.is_log, eprime.read, "Procedure", _EPRIME, ("NULL",)),
    "E-DataAid": Instrument(eprime.is_export, None, "Procedure", _EPRIME, ("NULL",)),
    "DMDX": Instrument(dmdx.is_azk, dmdx.read),
    "JSON": Instrument(json_rows.is_json, json_rows.read, "trial_type", _JSPSYCH),
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
    if json_rows.RUN in frame:
        return replace(table, frame=frame.rename(columns={json_rows.RUN: "subject"}))
    if "trial_index" not in frame:
        return table
    numbers = pd.to_numeric(frame.trial_index, errors="coerce")
    runs = (numbers.diff() <= 0).cumsum() + 1
    several = runs.iloc[-1] > 1  # else the file is one reader's, whom its name may tell
    return replace(table, frame=frame.assign(subject=runs.astype(str))) if several else table
