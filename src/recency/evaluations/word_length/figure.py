"""Length and surprisal by type: ρ by perplexity, explained variance of length, and ρ by text size."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from recency.evaluations.word_length.table import labels_of, with_perplexity
from recency.evaluations.word_length.types import COLUMNS, FREQUENCIES, LARGE, SMALL
from recency.figures import comparison, ends, labels, style
from recency.figures.comparison import LM, Described
from recency.figures.paths import File, Files

PRODUCT = {
    "makes": {
        "out": ("figure_word_length", "Length and surprisal by type"),
        "growth": ("figure_word_length_growth", "Length and surprisal as the text grows"),
    },
    "reads": ["lengths=word_length"],
    "settings": ["lms", "frequency_of"],
    "published": "word_length",
}

#: Shares of the variance of length: column, colour, legend.
SHARES = (
    ("length_small", "#bdbdbd", "frequency in the text"),
    ("length_large", "#7f7f7f", "in the larger text"),
    ("length_surprisal", "#8c510a", "surprisal"),
    ("length_large_surprisal", "#dfc27d", "surprisal × frequency"),
)
DASHES = {SMALL: (0, (1, 2)), LARGE: (0, (4, 2))}


def draw(rows: pd.DataFrame, lms: list[LM], names: Mapping[str, str], correlations: str) -> Figure:
    """Draw ρ against perplexity (frequencies as horizontal lines), and the shares as bars."""
    looks = style.looks(lms)
    overall = rows[rows.level == "overall"].set_index("lm")
    figure = style.figure(max(3.4, 0.2 * len(lms) + 1.2))
    left, right = figure.subplots(1, 2, width_ratios=[1.2, 1])
    left.set_xscale("log")
    points = overall.perplexity, overall.rho
    labels.draw_lms(left, lms, looks, *points, (overall.low, overall.high))
    for name in FREQUENCIES:
        left.axhline(overall.rho[name], color=style.GREY, lw=1, ls=DASHES[name], label=names[name])
    left.margins(0.16)
    style.log_ticks(left, 30)
    left.set_xlabel("Perplexity per word (log scale)")
    left.set_ylabel("Spearman's ρ, length and surprisal")
    left.grid(which="major")
    _stack(right, overall, lms)
    figure.legend(handles=left.get_legend_handles_labels()[0] + right.get_legend_handles_labels()[0],
                  loc="outside upper left", ncols=3)  # fmt: skip
    style.notes(figure, [correlations])
    labels.name_lms(left, lms, looks, *points)
    return figure


def _stack(axes: Axes, overall: pd.DataFrame, lms: list[LM]) -> None:
    """Draw the shares of the variance of length explained by the terms, one bar per LM."""
    shown = sorted((lm for lm in lms), key=lambda lm: overall.perplexity[lm.lm], reverse=True)
    places, begin = range(len(shown)), [0.0] * len(shown)
    for column, colour, label in SHARES:
        size = [100 * overall[column][lm.lm] for lm in shown]
        axes.barh(places, size, left=begin, color=colour, height=0.7, label=label)
        begin = [a + b for a, b in zip(begin, size, strict=True)]
    axes.set_yticks(places, [lm.label for lm in shown])
    axes.tick_params("y", length=0)
    axes.set_xlabel("Variance of length explained (%)")
    axes.grid(axis="x")


def draw_growth(rows: pd.DataFrame, lms: list[LM], names: Mapping[str, str]) -> Figure:
    """Draw ρ over a doubling number of the text's first words; frequencies dotted and dashed."""
    looks = style.looks(lms)
    figure = style.figure(max(3.4, 0.17 * len(lms) + 1.5))
    axes = figure.add_subplot()
    axes.set_xscale("log", base=2)
    sizes, last, colours = rows[rows.level == "size"], [], []
    every = [*FREQUENCIES, *(lm.lm for lm in lms)]
    for name in every:
        line = sizes[sizes.lm == name].sort_values("size")
        colour = style.GREY if name in FREQUENCIES else looks[name].colour
        axes.plot(line["size"], line.rho, color=colour, lw=1.1, ls=DASHES.get(name, "-"), gid=name)
        last.append((line["size"].iloc[-1], line.rho.iloc[-1]))
        colours.append(colour)
    style.plain_ticks(axes)
    axes.set_xlabel("Words of the text (log scale)")
    axes.set_ylabel("Spearman's ρ, length and surprisal")
    axes.grid()
    ends.name(axes, [names[name] for name in every], last, colours)
    return figure


def main(
    *,
    lengths: File,
    out: Files,
    growth: Files,
    lms: Described,
    frequency_of: str,
    published: File | None = None,
) -> None:
    """Draw both figures (.pdf, .svg, .png; .csv for the values)."""
    lms = list(lms)
    rows, names = comparison.table(lengths, COLUMNS), labels_of(lms, frequency_of)
    models, _ = comparison.records(lms, [])
    paper = None if published is None else comparison.table(published, ["lm", "t", "p", "rho"])
    sizes = rows[rows.level == "size"]
    lost = ["The text is too short for an analysis by text size"]
    overall = rows[rows.level == "overall"]
    style.write(out, overall, draw, rows, models, names, with_perplexity(rows, paper))
    style.write(growth, sizes, draw_growth, rows, models, names, empty=lost)
