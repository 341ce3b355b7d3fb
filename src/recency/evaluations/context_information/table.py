"""Information beyond the last k words of the context, by LM and k."""

import pandas as pd

from recency.evaluations.context_information.summary import read
from recency.figures import style, tables
from recency.figures.comparison import LM, Described
from recency.figures.paths import Files
from recency.figures.tables import Cell, Table

PRODUCT = {
    "makes": {"out": ("table_context_information", "Information beyond the last words")},
    "reads": ["predictions"],
    "settings": ["lms=variants"],
}


def layout(data: pd.DataFrame, lms: list[LM]) -> Table:
    """Return a row per LM: its surprisal after the whole context, then the information by k."""
    kept = sorted(set(data.kept) - {0})
    grid = []
    for lm in lms:
        rows = data[data.lm == lm.lm].set_index("kept")
        cells = [
            Cell(
                style.number(rows.bits[k], 2),
                (style.interval(rows.low[k], rows.high[k], decimals=2),),
            )
            for k in (0, *kept)
        ]
        grid.append([lm.label, *cells, f"{rows.words[0]:,}"])
    header = ["LM", "Surprisal", *(f"k = {k}" for k in kept), "Words"]
    notes = [
        "k: bits per word by which surprisal rises where only the last k words of the context are kept",
        "Surprisal: mean after the whole context, bits per word",
        "95 % intervals below, over words, and seeds where there are several; not corrected for their number",
    ]
    return Table("Information beyond the last k words", header, grid, notes)


def main(*, predictions: Files, out: Files, lms: Described) -> None:
    """Write the table to `out` (.csv, .html, .tex)."""
    data, models = read(predictions, lms)
    tables.write(out, layout(data, models), data)
