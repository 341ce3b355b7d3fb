"""Reading measures, declared once: what may not be shorter, which columns have them, how they follow.

A parser provides measures of its own, by the names below where they are these. `of` and `combine`
derive a measure from others, for every corpus and table that has them: `read` asks the parser for each.
"""

import operator
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from readingtimes.errors import InputError
from readingtimes.names import hint


@dataclass(frozen=True)
class Measure:
    """A reading measure, ms.

    Attributes
    ----------
    title
        What it is, in words.
    at_most
        Measures that it may not exceed, for the same reader and word.
    columns
        Regular expressions of its columns' usual names in tables, in lower case with spaces; the most
        reliable first.
    of_eyes
        Whether it is of eye movements.
    later_passes
        Whether a word that was skipped in first pass can have it.
    of, combine
        Measures that it is computed from, and the function of their values.
    """

    title: str
    at_most: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    of_eyes: bool = True
    later_passes: bool = False
    of: tuple[str, ...] = ()
    combine: Callable[..., Any] | None = None


#: Name → measure. Columns of a table are searched for them in this order.
MEASURES = {
    "FFD": Measure(
        "first fixation", ("FP", "GD"), (r"\bffd\b", r"first ?fix(ation)?( ?dur| ?time|$)")
    ),
    "RB": Measure("right-bounded", ("GP", "TFT"), (r"right ?bound",)),
    "GP": Measure("go past", (), (r"\bgpt?\b", r"go ?past", r"regression path", r"\brpd\b")),
    "FP": Measure(
        "first pass",
        ("GP", "RB", "TFT"),
        (r"\bfp\b", r"\bfprt\b", r"\bgd\b", r"\bgaze", r"first ?pass", r"first ?run d(well|ur)"),
    ),
    "GD": Measure("gaze duration", ("GP", "RB", "TFT")),
    "TFT": Measure(
        "total",
        (),
        (r"\btft\b", r"\btrt\b", r"\btfd\b", r"total ?(read|fix|time|dur)", r"\bdwell time"),
        later_passes=True,
    ),
    "RRT": Measure(
        "re-reading",
        ("TFT",),
        (r"\brrt\b", r"re ?read"),
        later_passes=True,
        of=("TFT", "FP"),
        combine=operator.sub,
    ),
    "Maze": Measure("choice", (), (r"\bmaze",), of_eyes=False),
    "SPR": Measure(
        "self-paced",
        (),
        (
            *(r"\bspr\b", r"\brts?\b", r"self ?paced", r"read(ing)? ?times?", r"\blat\b|laten[cz]"),
            *(
                r"lese ?zeit",
                r"\b[lr]z\b",
                r"reaktions ?zeit",
                r"leestijd",
                r"reactietijd",
                r"反应时",
                r"阅读时间",
            ),
            *(r"\btemps( de)? lecture", r"\bt(ie|e)mpo( de)? (lect|leit|lett)ura", r"読み時間"),
            *(r"\b(tiempo|tempo|temps|czas|время|süresi)\b",),
            *(r"\btime ms", r"\btimes?\b", r"\bms\b", r"\bduration"),
        ),
        of_eyes=False,
    ),
}


def has_later_passes(name: str) -> bool:
    """Return whether a word that was skipped in first pass can have a measure."""
    return name in MEASURES and MEASURES[name].later_passes


def sources(name: str, provided: Collection[str]) -> tuple[str, ...]:
    """Return the measures that are read for one: itself, or those that it follows from.

    Parameters
    ----------
    name : str
        The measure.
    provided : collection of str
        Measures of the parser or table.

    Returns
    -------
    tuple of str
        Empty if it is neither provided nor follows from what is.
    """
    if name in provided:
        return (name,)
    of = MEASURES[name].of if name in MEASURES else ()
    return of if of and set(of) <= set(provided) else ()


def read(
    parser: ModuleType,
    files: Mapping[str, Path],
    words: Any,
    measure: str,
    options: Mapping[str, Any],
) -> Any:
    """Read a measure's responses by a parser, computed where it follows from others.

    Parameters
    ----------
    parser : module
        Of readingtimes.parsers.
    files : mapping
        Role → path.
    words : DataFrame
        The words.
    measure : str
        The measure.
    options : mapping
        Options of the parser's `responses`.

    Returns
    -------
    DataFrame
        As the parser's; of a measure that is computed, the columns are those of the first that it
        follows from, and the rows those that all of them have.

    Raises
    ------
    InputError
        If the parser has no such measure.
    """
    provided = _mapped_names(options) if parser.MEASURES is None else parser.MEASURES
    of = sources(measure, provided) or ((measure,) if parser.MEASURES is None else ())
    if not of:
        raise InputError(
            f"measures → {measure}: parser {parser.__name__.rpartition('.')[2]} has no such measure; "
            f"{hint(measure, provided)}It has: {', '.join(provided)}"
        )
    first, *others = [parser.responses(dict(files), words, name, **options) for name in of]
    if measure in of:
        return first
    keys = ["subject", "word_id", *(["fixation"] if "fixation" in first else [])]
    values = [first.time_ms]
    for other in others:
        matched = first[keys].merge(other[[*keys, "time_ms"]], on=keys, how="left", validate="m:1")
        values.append(matched.time_ms.set_axis(first.index))
    combined = first.assign(time_ms=MEASURES[measure].combine(*values))
    return combined[combined.time_ms.notna()].reset_index(drop=True)


def _mapped_names(options: Mapping[str, Any]) -> Collection[str]:
    """Return the names, measures among them, that a table's options map to columns."""
    columns = options.get("columns") or {}
    return list(columns.get("responses", columns))
