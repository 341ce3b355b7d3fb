"""Probability of a word after another one relative to chance, by distance, one line per pair."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator

from recency.figures import comparison, ends, style
from recency.figures.encoding import OTHERS, STYLES
from recency.figures.paths import File, Files

PRODUCT = {
    "makes": {"out": ("figure_triggering", "Words that trigger words")},
    "reads": ["counts=triggering"],
}

COLUMNS = ["first", "second", "distance", "distance_to", "times", "low", "high", "together"]
LEAST = 5  # minimum number of pairs of words in a drawn bin
LOWEST = 0.3  # minimum of the axis: words rarely follow themselves directly


def draw(rows: pd.DataFrame) -> Figure:
    """Draw c_d over distance, both logarithmic, chance as a line at 1."""
    colours = [colour for colour, _ in (*STYLES.values(), *OTHERS)]
    pairs = list(dict.fromkeys(zip(rows["first"], rows["second"])))
    figure = style.figure(max(3.2, 0.17 * len(pairs) + 1.2))
    axes = figure.add_subplot()
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.axhline(1, color=style.GREY, lw=0.9, ls=(0, (3, 2)))
    texts, last, used = [], [], []
    for number, (first, second) in enumerate(pairs):
        line = rows[(rows["first"] == first) & (rows.second == second) & (rows.together >= LEAST)]
        if not len(line):
            continue
        colour, middle = colours[number % len(colours)], np.sqrt(line.distance * line.distance_to)
        axes.fill_between(
            middle, line.low.clip(lower=1e-3), line.high, color=colour, alpha=0.12, lw=0
        )
        axes.plot(middle, line.times, color=colour, lw=1.1)
        texts.append(f"{first} … {second}")
        last.append((middle.iloc[-1], line.times.iloc[-1]))
        used.append(colour)
    axes.yaxis.set_major_locator(FixedLocator([0.5, 1, 2, 5, 10, 20, 50, 100]))
    axes.yaxis.set_minor_locator(NullLocator())
    style.plain_ticks(axes)
    axes.set_xlabel("Distance (words)")
    axes.set_ylabel("Probability relative to chance")
    axes.set_ylim(bottom=LOWEST)
    axes.grid()
    if last:
        ends.name(axes, texts, last, used)
    return figure


def main(*, counts: File, out: Files) -> None:
    """Draw triggering.csv to `out` (.pdf, .svg, .png; .csv for the values)."""
    rows = comparison.table(counts, COLUMNS)[COLUMNS]
    style.write(out, rows, draw, rows)
