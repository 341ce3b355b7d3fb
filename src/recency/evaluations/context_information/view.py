"""Information beyond the last k words of the context by k, one line per LM.

Information beyond the last k words of the context, by LM and k.
"""

import pandas as pd
from matplotlib.figure import Figure

from recency.evaluations.context_information.summary import read
from recency.figures import ends, style, tables
from recency.figures.comparison import LM, Described
from recency.figures.paths import Files
from recency.figures.tables import Cell, Table

PRODUCTS = {
    "figure_context_information": {
        "makes": {"out": ("figure_context_information", "Information beyond the last words")},
        "reads": ["predictions"],
        "settings": ["lms=variants"],
    },
    "table_context_information": {
        "makes": {"out": ("table_context_information", "Information beyond the last words")},
        "reads": ["predictions"],
        "settings": ["lms=variants"],
    },
}


def draw(data: pd.DataFrame, lms: list[LM]) -> Figure:
    """Draw bits per word over the number of context words that are kept, with intervals."""
    looks = style.looks(lms)
    figure = style.figure(max(3.2, 0.17 * len(lms) + 1.2))
    axes = figure.add_subplot()
    axes.set_xscale("log")
    last = []
    for lm in lms:
        rows, look = data[(data.lm == lm.lm) & (data.kept > 0)], looks[lm.lm]
        axes.fill_between(rows.kept, rows.low, rows.high, color=look.colour, alpha=0.12, lw=0)
        axes.plot(rows.kept, rows.bits, color=look.colour, lw=1.1, marker=look.marker, ms=3, mfc=look.face,
                  mew=0.7)  # fmt: skip
        last.append((rows.kept.iloc[-1], rows.bits.iloc[-1]))
    axes.axhline(0, color=style.GREY, lw=0.7)
    axes.xaxis.set_major_formatter(style.tick)
    axes.set_xlabel("Last words of the context that are kept, k")
    axes.set_ylabel("Information beyond them (bits per word)")
    axes.grid()
    ends.name(axes, [lm.label for lm in lms], last, [looks[lm.lm].colour for lm in lms])
    return figure


def figure_context_information(*, predictions: Files, out: Files, lms: Described) -> None:
    """Draw the figure to `out` (.pdf, .svg, .png; .csv with the drawn values)."""
    data, models = read(predictions, lms)
    style.write(out, data, draw, data, models)


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


def table_context_information(*, predictions: Files, out: Files, lms: Described) -> None:
    """Write the table to `out` (.csv, .html, .tex)."""
    data, models = read(predictions, lms)
    tables.write(out, layout(data, models), data)
