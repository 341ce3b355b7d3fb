"""Histograms of a window's weights (thesis, Figure 3.2), and sparseness of CDLMs (Figure 2.2)."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.figure import Figure

from recency.figures import ends, style
from recency.figures.encoding import OTHERS, STYLES
from recency.figures.paths import Files

COLOURS = [colour for colour, _ in (*STYLES.values(), *OTHERS)]

PRODUCTS = {
    "figure_windows": {
        "makes": {"out": ("figure_windows", "Weights of a window")},
        "reads": ["windows"],
        "settings": ["window_lms"],
        "when": "windows",
    },
    "figure_sparseness": {
        "makes": {"out": ("figure_sparseness", "Sparseness of transformed words")},
        "reads": ["sparseness"],
        "settings": ["sparse_lms"],
        "when": "sparseness",
    },
}


def collect_rows(files: Files, labels: Sequence[str]) -> pd.DataFrame:
    """Return the rows of all files, each with its LM's label."""
    read = [pd.read_csv(path) for path in files]
    return pd.concat(
        rows.assign(label=label) for rows, label in zip(read, labels, strict=True)
    ).reset_index(drop=True)


def draw_windows(rows: pd.DataFrame) -> Figure:
    """Draw a row of panels for each LM, one for each position of its window."""
    labels = list(dict.fromkeys(rows.label))
    figure = style.figure(1.9 * len(labels))
    panels = figure.subplots(len(labels), int(rows.position.max()), squeeze=False, sharey="row")
    for line, label in zip(panels, labels, strict=True):
        for axes, (position, of) in zip(line, rows[rows.label == label].groupby("position")):
            width = of.high - of.low
            axes.bar(
                (of.low + of.high) / 2, of["count"] / of["count"].sum(), width, color=COLOURS[0]
            )
            axes.set_title(
                f"V{position}: mean |V| {of.mean_absolute.iloc[0]:.3f}", size=style.SMALL
            )
        line[0].set_ylabel(f"{label}\nshare")
    return figure


def draw_sparseness(rows: pd.DataFrame) -> Figure:
    """Draw the mean share below each threshold by the CDLM's span, a line for each threshold."""
    means = rows.groupby(["span", "threshold"]).share.mean().unstack()
    figure = style.figure(2.6)
    axes, last, colours = figure.add_subplot(), [], []
    for number, threshold in enumerate(means):
        colour = COLOURS[number % len(COLOURS)]
        axes.plot(means.index, means[threshold], color=colour, marker="o", ms=3.5, lw=1.1)
        last.append((means.index[-1], means[threshold].iloc[-1]))
        colours.append(colour)
    axes.set_xlabel("Context size M (words)")
    axes.set_ylabel("Share of T v below the threshold")
    axes.set_xticks(list(means.index))
    axes.grid()
    ends.name(axes, [f"t = {threshold:g}" for threshold in means], last, colours)
    return figure


def figure_windows(*, windows: Files, out: Files, window_lms: Sequence[str]) -> None:
    """Draw the figure to `out` (.pdf, .svg, .png; .csv for the values)."""
    rows = collect_rows(windows, window_lms)
    style.write(out, rows, draw_windows, rows)


def figure_sparseness(*, sparseness: Files, out: Files, sparse_lms: Sequence[str]) -> None:
    """Draw the figure to `out` (.pdf, .svg, .png; .csv for the values)."""
    rows = collect_rows(sparseness, sparse_lms)
    rows["span"] = rows.groupby("label").distance.transform("max") + 1  # the predicted word, too
    style.write(out, rows, draw_sparseness, rows)
