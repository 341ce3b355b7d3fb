"""Recognition, recall, primacy and recency of people, and of each LM and list length."""

import math

import pandas as pd

from recency.evaluations.serial_position.figure import PUBLISHED
from recency.evaluations.serial_position.serial_curves import EDGE, SUMMARY, TASKS, human, read
from recency.figures import comparison, encoding, style, tables
from recency.figures.comparison import Described
from recency.figures.paths import File, Files
from recency.figures.tables import Cell, Table

PRODUCT = {
    "makes": {"out": ("table_serial_position", "Primacy and recency in lists of words")},
    "reads": ["scores"],
    "settings": ["lms=variants", "title", "seed"],
    "published": "serial_position",
    "summary": ("table_serial_position.csv", "{title}: primacy and recency"),
}

COLUMNS = ["lm", "label", "slope", *SUMMARY]
MEASURES = ("mean", "primacy", "recency")
NOTES = [
    "recognized: percent of unstudied words with a lower score than the studied word; chance is 50",
    "recalled: percent of sampled continuations with the word; lures: the same for unstudied words",
    (
        f"primacy: the first {EDGE} positions minus those between the first and last {EDGE}; recency: "
        f"the last {EDGE} minus the same; in percentage points"
    ),
    "95 % intervals resample lists and, if there are several, seeds",
    "slope: slope of a linear bias shared by all heads, per token",
]


def main(
    *,
    scores: Files,
    out: Files,
    lms: Described,
    title: str = "Serial position",
    seed: int = 0,
    published: File | None = None,
) -> None:
    """Write the table to `out` (.csv tidy with a row per task, .html, .tex)."""
    models, measured = read(scores, lms, seed)
    parts = [
        measured[lm.lm][1].assign(lm=lm.lm, label=lm.label, slope=encoding.slope(lm.bias))
        for lm in models
    ]
    rows = pd.concat(parts, ignore_index=True)[COLUMNS]
    people = None if published is None else human(comparison.table(published, PUBLISHED))[1]
    tables.write(out, layout(rows, people, title), rows)


def layout(rows: pd.DataFrame, people: pd.DataFrame | None, title: str) -> Table:
    """Return a row per LM and list length, people first."""
    header = ["", "Slope", "List", "Recognized (%)", "primacy", "recency"]
    header += ["Recalled (%)", "lures", "primacy", "recency"]
    grid, notes = [], list(NOTES)
    for row in people.itertuples() if people is not None else ():
        cells = [f"people, {row.seconds:g} s per word", "", str(row.length), "", "", ""]
        cells += [style.number(row.mean), "", style.signed(row.primacy), style.signed(row.recency)]
        grid.append(cells)
    first = len(grid)
    if first:
        notes.append("people: published free recall, with another procedure than for LMs")
    for (_, length), mine in rows.groupby(["lm", "length"], sort=False):
        head = mine.iloc[0]
        slope = "–" if pd.isna(head.slope) else f"{head.slope:g}"
        cells = [head.label, slope, str(length)]
        for task in TASKS:
            of_task = mine[mine.task == task]
            row = of_task.iloc[0] if len(of_task) else None
            values = [_cell(row, name) for name in MEASURES]
            if task == "recall":
                values.insert(1, style.number(math.nan if row is None else row.chance))
            cells += values
        grid.append(cells)
    return Table(title, header, grid, notes, rules=(first,) if first else ())


def _cell(row: pd.Series | None, name: str) -> Cell | str:
    """Return a percentage or a signed difference, with its interval beneath."""
    if row is None:
        return "–"
    write = style.number if name == "mean" else style.signed
    return Cell(write(row[name]), (style.interval(row[f"{name}_low"], row[f"{name}_high"], write),))


def summary(path: File) -> Table:
    """Return this table's CSV in short, for the summary."""
    rows = comparison.table(path, COLUMNS)
    header = ["", "List", "Task", "Mean (%)", "Primacy", "Recency"]
    grid = [
        [row.label, str(row.length), row.task, style.number(row.mean)]
        + [style.signed(row.primacy), style.signed(row.recency)]
        for row in rows.itertuples()
    ]
    return Table("", header, grid, [])
