"""Accuracy in the maze against perplexity, and by the word's position."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from recency.evaluations.maze.choices import COLUMNS, READERS
from recency.evaluations.maze.table import not_run, with_perplexity
from recency.figures import comparison, ends, labels, style
from recency.figures.comparison import LM

PRODUCT = {
    "makes": {"out": ("figure_maze", "Word or foil: accuracy by perplexity and position")},
    "reads": ["maze"],
    "settings": ["lms"],
    "published": "maze",
}

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEAST = 0.25  # of the words at the position that has most: one of fewer is not drawn


def draw(rows: pd.DataFrame, lms: list[LM], sentences: list[str]) -> "Figure":
    """Draw both panels; readers are a dashed line across and a dashed line of their own."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

    looks = style.looks(lms)
    figure = Figure(figsize=(style.WIDTH, max(3.4, 0.17 * len(lms) + 1.3)), layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2, sharey=False, width_ratios=[1.25, 1])
    overall = rows[rows.level == "overall"].set_index("lm")
    done = [lm for lm in lms if lm.lm in overall.index]
    left.set_xscale("log")
    bars = []
    for lm in done:
        row, look = overall.loc[lm.lm], looks[lm.lm]
        pale = style.tint(look.colour, 0.6)
        left.plot([row.perplexity] * 2, [row.low, row.high], "_-", color=pale, lw=0.9, ms=4)
        left.plot(row.perplexity, row.accuracy, look.marker, mfc=look.face, mec=look.colour, ms=6)
        bars.append((row.perplexity, row.low, row.high))
    dashed = {"color": style.GREY, "ls": (0, (4, 2)), "lw": 1}
    lines = []
    if READERS in overall.index:
        left.axhline(overall.accuracy[READERS], **dashed)
        lines.append(overall.accuracy[READERS])
    left.margins(0.16)
    low, high = left.get_xlim()
    left.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 30 * low else (1,)))
    left.xaxis.set_minor_locator(NullLocator())
    left.set_xlabel("Perplexity of a word (log scale)")
    left.set_ylabel("Words found likelier than their foils (%)")
    places = rows[rows.level == "position"].assign(place=lambda each: each.group.astype(int))
    places = places[places.words >= LEAST * places.words.max()]
    last = []
    for name in (*(lm.lm for lm in done), READERS):
        line = places[places.lm == name].sort_values("place")
        how = dashed if name == READERS else {"color": looks[name].colour, "lw": 1.1}
        right.plot(line.place, line.accuracy, **how, gid=f"positions {name}")
        if name != READERS:
            last.append((line.place.iloc[-1], line.accuracy.iloc[-1]))
    right.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    right.set_xlabel("Position in the sentence")
    for axes in (left, right):
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(FuncFormatter(lambda value, _: style.tick(value)))
        axes.grid(which="major")
    if lines:
        figure.legend(handles=[Line2D([], [], **dashed, label="readers")], loc="outside upper left")
    style.notes(figure, sentences)
    if done:
        ends.name(right, [lm.label for lm in done], last, [looks[lm.lm].colour for lm in done])
        labels.write(
            left,
            {lm.lm: (overall.perplexity[lm.lm], overall.accuracy[lm.lm]) for lm in done},
            {lm.lm: lm.label for lm in done},
            {lm.lm: style.shade(looks[lm.lm].colour) for lm in done},
            [[lm.lm] for lm in done],
            bars,
            lines,
        )
    return figure


def main(
    *,
    maze: str | Path,
    out: Iterable[str | Path],
    lms: Iterable[Mapping],
    published: str | Path | None = None,
) -> None:
    """Draw the figure to `out` (.pdf, .svg, .png; .csv for what is drawn)."""
    rows = comparison.table(maze, COLUMNS)
    models, _ = comparison.records(lms, [])
    drawn = rows[rows.level.isin(["overall", "position"])]
    told = [with_perplexity(rows, published), *not_run(rows)]
    with style.use():
        style.save(draw(rows, models, told) if len(drawn) else style.empty(told), out, drawn)
