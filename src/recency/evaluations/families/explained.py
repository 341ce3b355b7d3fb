"""Variance explained by surprisal, compared with readers and other word properties, by response."""

import math
from collections.abc import Iterable
from itertools import pairwise

import pandas as pd
from matplotlib.figure import Figure

from recency.evaluations.families.gaps import paired
from recency.evaluations.families.shares import (
    COLUMNS,
    FREQUENCY,
    LENGTH,
    LM,
    OTHERS,
    READERS,
    read,
)
from recency.figures import comparison, style, tables
from recency.figures.comparison import Described
from recency.figures.paths import File, Files
from recency.figures.tables import Table

PRODUCT = {
    "makes": {
        "out": ("table_explained", "Variance that surprisal explains"),
        "figure": ("figure_explained", "Variance that surprisal explains"),
    },
    "reads": ["fitted", "fits"],
    "settings": ["cells", "responses", "title"],
    "published": "explained",
    "when": "mixed",
}

NOTE = (
    "percent of the variance of the fitted responses, by a type I analysis of variance: readers first, then other properties of the "
    "words, the LM's terms last"
)
SHARED = ", over LMs; LMs share their words, so that p is too small"
COLOURS = {
    READERS: "#bdbdbd",
    LENGTH: "#80b1d3",
    FREQUENCY: "#4393c3",
    OTHERS: "#b8e186",
    LM: "#8c510a",
}


def main(
    *,
    fitted: Files,
    fits: Files,
    out: Files,
    figure: Files,
    cells: Described,
    responses: Described,
    published: File | None = None,
    title: str = "Families",
) -> None:
    """Write the table (.csv tidy, .html, .tex) and the figure (.pdf, .svg, .png, .csv)."""
    rows = read(fitted, fits, cells, responses)
    published_rows = None if published is None else pd.read_csv(published)
    tables.write(out, layout(rows, published_rows, responses, title), rows)
    style.write(figure, rows, draw, rows)


def layout(
    rows: pd.DataFrame, published: pd.DataFrame | None, responses: Described, title: str
) -> Table:
    """Return a row per LM, a column per response (largest share first), and paired tests."""
    wide = rows.pivot(index="label", columns="response", values=LM)
    wide = wide.reindex(list(dict.fromkeys(rows.label)))
    order = list(wide.mean().sort_values(ascending=False).index)
    grid = [
        [label, *(style.number(wide[name][label], 2) for name in order)] for label in wide.index
    ]
    notes = [NOTE, *tests(wide, order, published, responses)]
    return Table(f"{title}: variance that surprisal explains", ["", *order], grid, notes)


def tests(
    wide: pd.DataFrame, order: list[str], published: pd.DataFrame | None, responses: Described
) -> list[str]:
    """Return notes on paired tests between consecutive columns, or the published pairs of responses."""
    compared = [(more, less, "") for more, less in pairwise(order)]
    if published is not None:
        _, measured = comparison.records([], responses)
        compared = [
            (more, less, f"; published t({row.df}) = {style.number(row.t, 1)}")
            for row in published.itertuples()
            for more, less in _of_measures(measured, row.more, row.less)
            if {more, less} <= set(order)
        ]
    sentences = []
    for more, less, note in compared:
        t, p, n = paired(wide[more], wide[less])
        if not math.isnan(t):
            sentence = f"{more} over {less}: paired t({n - 1}) = {style.number(t, 2)} (p {style.p_value(p)})"
            sentences.append(sentence + SHARED + note)
    return sentences


def _of_measures(measured: Iterable, more: str, less: str) -> list[tuple[str, str]]:
    """Return responses of two measures within a dataset, or across datasets if none has both."""
    pairs = [(a, b) for a in measured for b in measured if (a.measure, b.measure) == (more, less)]
    same_dataset = [(a, b) for a, b in pairs if a.dataset == b.dataset]
    return [(a.label, b.label) for a, b in same_dataset or pairs]


def draw(rows: pd.DataFrame) -> Figure:
    """Draw a panel per response and a bar per LM, its shares stacked."""
    responses, lms = list(dict.fromkeys(rows.response)), list(dict.fromkeys(rows.label))
    figure = style.figure(0.8 + (0.5 + 0.19 * len(lms)) * len(responses))
    panels = figure.subplots(len(responses), 1, squeeze=False)[:, 0]
    for axes, response in zip(panels, responses, strict=True):
        mine = rows[rows.response == response].set_index("label").reindex(lms[::-1])
        begin = pd.Series(0.0, mine.index)
        for kind in COLUMNS[3:]:
            axes.barh(
                mine.index, mine[kind], left=begin, height=0.7, color=COLOURS[kind], label=kind
            )
            begin += mine[kind]
        axes.tick_params("y", length=0)
        axes.grid(axis="x")
        axes.set_title(response)
    panels[-1].set_xlabel("Variance explained (%)")
    handles, names = panels[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper left", ncols=len(names))
    return figure
