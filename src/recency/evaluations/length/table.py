"""Perplexity by length, and its change from the training length."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from recency.evaluations.length import differences
from recency.figures import comparison, style, tables
from recency.figures.comparison import Described
from recency.figures.paths import File, Files
from recency.figures.tables import Cell, Table

PRODUCT = {
    "makes": {"out": ("table_length", "Table of perplexity by length")},
    "reads": ["lengths"],
    "settings": ["variants", "length_settings", "title"],
    "summary": ("table_length.csv", "{title}: perplexity by length"),
}

COLUMNS = ["label", "length", "ppl"]


def layout(title: str, rows: pd.DataFrame, trained: int) -> Table:
    """Return a row per LM and a column per length, the change from the training length beneath."""
    lengths = sorted(map(int, rows.length.unique()))
    header = ["LM", *(f"{length:,}" + " (trained)" * (length == trained) for length in lengths)]
    grid = []
    for label, lm_rows in rows.groupby("label", sort=False):
        by = lm_rows.set_index("length")
        grid.append([label, *(_cell(by.loc[n], n == trained) for n in lengths)])
    first = rows.iloc[0]
    size = f"{first.tokens:,} masked tokens of {first.documents} documents"
    notes = [
        f"perplexity of {size}, read in segments of these lengths; the same tokens are masked at each length",
        "beneath: the change from the training length, with its 95 % interval over documents",
    ]
    if rows.networks.max() > 1:
        notes.append("over several networks, nats are averaged token by token")
    if rows.ppl.isna().any():
        notes.append("no positions: the network has no learned positions at this length")
    return Table(f"{title}: perplexity by length", header, grid, notes)


def _cell(row: pd.Series, trained: bool) -> Cell | str:
    if np.isnan(row.ppl):
        return "no positions"
    if trained or np.isnan(row.difference):
        return f"{row.ppl:,.1f}"
    below = [style.percent(np.expm1(row.difference))]
    if not np.isnan(row.low):
        below.append(style.percents(*np.expm1([row.low, row.high])))
    return Cell(f"{row.ppl:,.1f}", tuple(below))


def summary(path: File) -> Table:
    """Return the perplexities for the summary."""
    rows = comparison.table(path, COLUMNS)
    lengths = sorted(rows.length.unique())
    grid = []
    for label, lm_rows in rows.groupby("label", sort=False):
        by = lm_rows.set_index("length").ppl
        values = ["–" if np.isnan(by[length]) else f"{by[length]:,.1f}" for length in lengths]
        grid.append([label, *values])
    return Table("", ["LM", *(f"{length:,} tokens" for length in lengths)], grid, [])


def main(
    *, lengths: Files, out: Files, variants: Described, length_settings: Mapping, title: str
) -> None:
    """Write the table to `out` (.csv tidy, .html, .tex); `lengths` are score's files, by LM."""
    trained = length_settings["trained"]
    rows = differences.read(lengths, variants, trained)
    tables.write(out, layout(title, rows, trained), rows)
