"""Observed effects and those predicted from each LM's surprisal, by construction and region."""

import math

import pandas as pd

from recency.evaluations.effects_by_item import results_files
from recency.evaluations.effects_by_item.observed_and_predicted import COLUMNS, READERS
from recency.figures import comparison, style, tables
from recency.figures.comparison import Described
from recency.figures.paths import File, Files
from recency.figures.tables import Cell, Table

PRODUCT = {
    "makes": {"out": ("table_predicted_effects", "Observed and predicted effects")},
    "reads": ["effects"],
    "settings": ["lms", "title"],
    "summary": ("table_predicted_effects.csv", "{title}: observed and predicted effects"),
}
NOTE = (
    "Readers: the fixed effect of a mixed model with slopes by subject and item, and the sd of the effect over "
    "items. LMs: the effect predicted from their surprisal, converted by the regression on fillers; beneath, the "
    "readers' effect minus the predicted one, and predicted over observed (Fieller; none where the observed effect "
    "does not differ from 0). Bold: observed and predicted effects differ, p < 0.05. 95 % "
    "intervals."
)


def main(*, effects: File, out: Files, lms: Described, title: str = "Effects") -> None:
    """Write the table to `out` (.csv tidy, .html, .tex): a row for each contrast and region."""
    models, _ = comparison.records(lms, [])
    rows = results_files.read(effects, COLUMNS, models)
    tables.write(out, layout(rows, title), rows)


def layout(rows: pd.DataFrame, title: str) -> Table:
    """Return a table with a row per contrast and region, and a column for readers and each LM."""
    labels = rows.drop_duplicates("source").set_index("source").label
    grid = []
    for panel, part in rows.groupby("panel", sort=False):
        by_source = part.set_index("source")
        cells = [_cell(by_source.loc[source]) for source in labels.index]
        grid.append([panel, str(part["items"].iloc[0]), *cells])
    notes = [f"{row.panel}: {row.note}." for row in rows.itertuples() if row.note]
    return Table(title, ["", "Items", *labels], grid, [NOTE, *notes])


def _cell(row: pd.Series) -> Cell:
    below = [style.interval(row.low, row.high, style.signed)]
    if row.name == READERS:
        below.append(f"sd {style.number(row.sd_items)}")
        return Cell(style.with_unit(style.signed(row.effect), row.unit), tuple(below))
    ends = style.interval(row.excess_low, row.excess_high, style.signed)
    below.append(f"observed − predicted {style.signed(row.excess)} ({ends})")
    if not math.isnan(row.share_low):
        share = style.interval(row.share_low, row.share_high, style.number, decimals=2)
        below.append(f"predicted / observed {style.number(row.share, 2)} ({share})")
    differs = row.excess_low > 0 or row.excess_high < 0
    return Cell(style.with_unit(style.signed(row.effect), row.unit), tuple(below), bold=differs)


def summary(path: File) -> Table:
    """Return the summary's table, from this table's CSV."""
    rows = comparison.table(path, [*COLUMNS, "label", "panel"])
    for name in ("unit", "note"):
        rows[name] = rows[name].fillna("").astype(str)
    return layout(rows, "")
