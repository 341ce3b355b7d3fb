"""Contrasts between words by measure, in readers' responses and each LM's surprisal."""

import math

import pandas as pd

from recency.evaluations.contrasts.item_effects import COLUMNS, READERS
from recency.evaluations.contrasts.paired import LEVEL, mark
from recency.figures import comparison, style, tables
from recency.figures.comparison import View
from recency.figures.paths import File, Files
from recency.figures.tables import Cell, Table

PRODUCTS = {
    "main": {
        "makes": {"out": ("table_contrasts", "Contrasts between words")},
        "reads": ["contrasts"],
        "settings": ["lms", "title"],
        "summary": ("table_contrasts.csv", "{title}: contrasts between words"),
    }
}
NOTE = (
    "high minus low, mean over items, 95 % interval (Student's t) beneath: readers (after subtracting each "
    "reader's mean) in log ms, µV or the score's unit, LMs in bits; t is paired over items, p two-sided, uncorrected "
    f"for multiple tests; bold: p < {LEVEL} with high above low. X wrong direction, . p < 0.1, * < 0.05, ** < 0.01, "
    "*** < 0.001"
)


def main(view: View, contrasts: File, out: Files) -> None:
    """Write the table to `out` (.csv tidy, .html, .tex): rows by measure and contrast, columns by LM."""
    rows = comparison.table(contrasts, COLUMNS)
    rows["label"] = rows.lm.map({READERS: "readers"} | view.labels)
    rows["mark"] = [mark(row.t, row.p) for row in rows.itertuples()]
    rows["unit"] = rows.unit.fillna("")
    tables.write(out, layout(rows, view.title), rows)


def layout(rows: pd.DataFrame, title: str) -> Table:
    """Return a table with a row for each measure and contrast."""
    labels = rows.drop_duplicates("lm").set_index("lm").label
    several = rows.measure.nunique() > 1
    header = [*(["Measure"] if several else []), "", "Items", *labels]
    grid, rules, before = [], [], None
    for (measure, _), part in rows.groupby(["measure", "contrast"], sort=False):
        if before not in (None, measure):
            rules.append(len(grid))
        before = measure
        by_lm = part.set_index("lm")
        cells = [measure] if several else []
        cells += [part.contrast_label.iloc[0], str(part["items"].max())]
        grid.append([*cells, *(_cell(by_lm.loc[lm]) for lm in labels.index)])
    return Table(title, header, grid, [NOTE], tuple(rules))


def _cell(row: pd.Series) -> Cell:
    size = style.with_unit(style.signed(row.difference, 2), row.unit)
    beneath = [style.interval(row.low, row.high, style.signed)]
    if not math.isnan(row.t):
        beneath.append(f"t = {style.number(row.t, 2)}, p {style.p_value(row.p)}")
    return Cell(f"{size} {row['mark']}".strip(), tuple(beneath), bold=bool(row.passed))


def summary(path: File) -> Table:
    """Return the summary's table, from this table's CSV."""
    rows = comparison.table(path, [*COLUMNS, "label"])
    rows["unit"] = rows.unit.fillna("").astype(str)
    rows["mark"] = rows["mark"].fillna("").astype(str)
    return layout(rows, "")
