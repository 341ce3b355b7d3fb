"""Information beyond the last k words of the context by k, one line per LM."""

import pandas as pd
from matplotlib.figure import Figure

from recency.evaluations.context_information.summary import read
from recency.figures import ends, style
from recency.figures.comparison import LM, Described
from recency.figures.paths import Files

PRODUCT = {
    "makes": {"out": ("figure_context_information", "Information beyond the last words")},
    "reads": ["predictions"],
    "settings": ["lms=variants"],
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


def main(*, predictions: Files, out: Files, lms: Described) -> None:
    """Draw the figure to `out` (.pdf, .svg, .png; .csv with the drawn values)."""
    data, models = read(predictions, lms)
    style.write(out, data, draw, data, models)
