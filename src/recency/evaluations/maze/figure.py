"""Accuracy in the maze against perplexity, and by the position of the word."""

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from recency.evaluations.maze.choices import COLUMNS, READERS
from recency.evaluations.maze.table import not_run, with_perplexity
from recency.figures import comparison, ends, labels, style
from recency.figures.comparison import LM, Described
from recency.figures.paths import File, Files

PRODUCT = {
    "makes": {"out": ("figure_maze", "Word or foil: accuracy by perplexity and position")},
    "reads": ["maze"],
    "settings": ["lms"],
    "published": "maze",
}

LEAST = 0.25  # minimum number of words at a drawn position, as a share of the largest


def draw(rows: pd.DataFrame, lms: list[LM], sentences: list[str]) -> Figure:
    """Draw both panels, with dashed lines for readers."""
    looks = style.looks(lms)
    figure = style.figure(max(3.4, 0.17 * len(lms) + 1.3))
    left, right = figure.subplots(1, 2, sharey=False, width_ratios=[1.25, 1])
    overall = rows[rows.level == "overall"].set_index("lm")
    done = [lm for lm in lms if lm.lm in overall.index]
    left.set_xscale("log")
    points = overall.perplexity, overall.accuracy
    labels.draw_lms(left, done, looks, *points, (overall.low, overall.high))
    dashed = {"color": style.GREY, "ls": (0, (4, 2)), "lw": 1}
    if READERS in overall.index:
        left.axhline(overall.accuracy[READERS], **dashed)
    left.margins(0.16)
    left.set_xlabel("Perplexity of a word (log scale)")
    left.set_ylabel("Words preferred to their foils (%)")
    places = rows[rows.level == "position"].assign(place=lambda table: table.group.astype(int))
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
    style.log_ticks(left, 30)
    style.plain_ticks(right)
    for axes in (left, right):
        axes.grid(which="major")
    if READERS in overall.index:
        figure.legend(handles=[style.handle(**dashed, label="readers")], loc="outside upper left")
    style.notes(figure, sentences)
    if done:
        ends.name(right, [lm.label for lm in done], last, [looks[lm.lm].colour for lm in done])
        labels.name_lms(left, done, looks, *points)
    return figure


def main(*, maze: File, out: Files, lms: Described, published: File | None = None) -> None:
    """Draw the figure to `out` (.pdf, .svg, .png; .csv with the drawn values)."""
    rows = comparison.table(maze, COLUMNS)
    models, _ = comparison.records(lms, [])
    drawn = rows[rows.level.isin(["overall", "position"])]
    notes = [with_perplexity(rows, published), *not_run(rows)]
    style.write(out, drawn, draw, rows, models, notes, empty=notes)
