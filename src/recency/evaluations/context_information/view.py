"""Information about the next word from beyond the last k words of the context, by LM and k."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from crosslmm.stats import totals
from recency.errors import InputError
from recency.figures import comparison, ends, style, tables
from recency.figures.comparison import LM, View
from recency.figures.paths import Files
from recency.figures.tables import Cell, Table

COLUMNS = ["place", "kept", "bits"]


def beyond(tables: Sequence[pd.DataFrame], seed: int = 0, replicates: int = 1000) -> pd.DataFrame:
    """Return the information beyond k words: kept (k), words, bits, low and high.

    It is the mean surprisal of the words after their last k words, less that after the whole context, over
    words and seeds; in bits per word. The last row, `kept` 0, has the mean surprisal after the whole
    context. 95 % intervals are for new words, the same ones for all seeds, and for new seeds
    (`crosslmm.stats.totals`).

    Parameters
    ----------
    tables
        One table per seed, as written by the rule.
    """
    grids = [table.pivot(index="place", columns="kept", values="bits") for table in tables]
    if any(not g.index.equals(grids[0].index) or list(g) != list(grids[0]) for g in grids):
        raise InputError("the seeds of an LM predicted different words")
    kept, values = grids[0].columns.to_numpy(), np.stack([grid.to_numpy(float) for grid in grids])
    values = np.concatenate([values[..., :-1] - values[..., -1:], values[..., -1:]], axis=2)
    means = totals.resample_means(values, seed, replicates)
    rows = [{"bits": mean.value} | mean.ends() for mean in means]
    columns = {"kept": [*kept[:-1], 0], "words": values.shape[1]}
    return pd.DataFrame(columns).join(pd.DataFrame(rows)[["bits", "low", "high"]])


def read(view: View, predictions: Files) -> pd.DataFrame:
    """Return lm, label and the columns of `beyond`; the seeds of an LM share its name."""
    files = view.of_runs(predictions)
    parts = [
        beyond([pd.read_parquet(path, columns=COLUMNS) for path in files[lm.lm]]) for lm in view.lms
    ]
    return comparison.joined(view.lms, parts)[["lm", "label", *parts[0]]]


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


def figure_context_information(view: View, predictions: Files, out: Files) -> None:
    """Draw the figure to `out` (.pdf, .svg, .png; .csv with the drawn values)."""
    data = read(view, predictions)
    style.write(out, data, draw, data, view.lms)


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


def table_context_information(view: View, predictions: Files, out: Files) -> None:
    """Write the table to `out` (.csv, .html, .tex)."""
    data = read(view, predictions)
    tables.write(out, layout(data, view.lms), data)
