"""Probability of a word after another one relative to chance, by distance, one line per pair.

Memory required by text and retained by LMs, both relative to a distance of two to five words.
"""

import math

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator

from recency.evaluations.measured_memory import view as measured_memory
from recency.figures import comparison, ends, style
from recency.figures.comparison import LM, View
from recency.figures.encoding import OTHERS, STYLES
from recency.figures.paths import File, Files

PRODUCTS = {
    "figure_triggering": {
        "makes": {"out": ("figure_triggering", "Words that trigger words")},
        "reads": ["counts=triggering"],
    },
    "figure_retention": {
        "makes": {"out": ("figure_retention", "Memory required by text and retained by LMs")},
        "reads": [
            "counts=triggering",
            "memories=figure_measured_memory",
            "correlations=figure_temporal_correlation",
        ],
        "settings": ["lms=variants"],
        "when": "retention",
    },
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


def figure_triggering(*, counts: File, out: Files) -> None:
    """Draw triggering.csv to `out` (.pdf, .svg, .png; .csv for the values)."""
    rows = comparison.table(counts, COLUMNS)[COLUMNS]
    style.write(out, rows, draw, rows)


#: Distances in words: all curves are percentages of their mean over these.
FIRST, LAST = 2, 5
LARGEST = 10  # a curve that rises to more times its beginning began with nothing to lose
PANELS = {
    "measured_memory": "Change by a replaced word (%)",
    "temporal_correlation": "Cosine above shuffled text (%)",
}
TEXT = {"color": style.GREY, "lw": 1.0, "ls": (0, (4, 2))}
LINES = ["source", "lm", "label", "distance", "percent", "half_left_words"]


def relative(rows: pd.DataFrame) -> pd.DataFrame | None:
    """Return distance, percent and half_left_words of a curve (distance in words, value).

    Percent is relative to the mean from `FIRST` to `LAST` words; None if that is not positive, or
    under a tenth of the curve's largest value.
    `half_left_words` is the distance after `LAST` at which the curve first falls to 50 % or less,
    interpolated in log distance, or NaN.
    """
    rows = rows[rows.distance >= FIRST].sort_values("distance")
    start = rows.value[rows.distance <= LAST].mean()
    if not start > rows.value.abs().max() / LARGEST:
        return None
    percent = 100 * rows.value / start
    return pd.DataFrame({"distance": rows.distance, "percent": percent}).assign(
        half_left_words=_half_left(rows.distance.to_numpy(float), percent.to_numpy(float))
    )


def _half_left(distance: np.ndarray, percent: np.ndarray) -> float:
    below = np.flatnonzero((percent <= 50) & (distance > LAST))
    if not len(below):
        return math.nan
    at = below[0]
    if at == 0 or percent[at - 1] <= 50:
        return float(distance[at])
    share = (percent[at - 1] - 50) / (percent[at - 1] - percent[at])
    logs = np.log(distance[[at - 1, at]])
    return float(np.exp(logs[0] + share * (logs[1] - logs[0])))


def text_curves(counts: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Return the curve (`LINES`) of each pair of words, log2 c_d, and the pairs without one."""
    parts, lost = [], []
    counts = counts[(counts.together >= LEAST) & (counts.times > 0)]
    for (first, second), mine in counts.groupby(["first", "second"], sort=False):
        middle = np.sqrt(mine.distance * mine.distance_to)
        line = relative(pd.DataFrame({"distance": middle, "value": np.log2(mine.times)}))
        label = f"{first} … {second}"
        if line is None:
            lost.append(label)
        else:
            parts.append(line.assign(source="triggering", lm=label, label=label))
    return _concatenate(parts), lost


def lm_curves(
    memories: pd.DataFrame, correlations: pd.DataFrame, lms: list[LM]
) -> tuple[pd.DataFrame, list[str]]:
    """Return curves (`LINES`) of each LM, for states of the last layer, and the LMs without one."""
    parts, lost = [], []
    for lm in lms:
        changes = memories[memories.lm == lm.lm].sort_values("distance")
        distance, effect = measured_memory.points(changes.distance.to_numpy(float), changes.change_bits.to_numpy(float))  # fmt: skip
        states = correlations[correlations.lm == lm.lm]
        states = states[states.layer == states.layer.max()]
        curves = {
            "measured_memory": pd.DataFrame({"distance": distance, "value": effect}),
            "temporal_correlation": pd.DataFrame({"distance": states.distance, "value": states.correlation - states.shuffled}),
        }  # fmt: skip
        for source, rows in curves.items():
            line = relative(rows)
            if line is None:
                lost.append(f"{lm.label} ({source.replace('_', ' ')})")
            else:
                parts.append(line.assign(source=source, lm=lm.lm, label=lm.label))
    return _concatenate(parts), lost


def _concatenate(parts: list[pd.DataFrame]) -> pd.DataFrame:
    return pd.concat(parts, ignore_index=True)[LINES] if parts else pd.DataFrame(columns=LINES)


def figure_retention_draw(lines: pd.DataFrame, lms: list[LM], notes: list[str]) -> Figure:
    """Draw a panel per measure of an LM's memory, with the text's curves dashed in both."""
    figure = style.figure(2 * max(2.6, 0.17 * len(lms) + 0.9))
    both = figure.subplots(2, 1, sharex=True)
    texts = lines[lines.source == "triggering"]
    for axes, (source, label) in zip(both, PANELS.items(), strict=True):
        axes.set_xscale("log")
        axes.axhline(50, color=style.GREY, lw=0.7, ls=(0, (1, 2)))
        for name, line in texts.groupby("lm", sort=False):
            axes.plot(line.distance, line.percent, gid=f"text {name}", **TEXT)
        axes.set_ylabel(label)
        style.plain_ticks(axes)
        axes.grid()
    both[-1].set_xlabel("Distance (words)")
    if len(texts):
        handle = style.handle(**TEXT, label="text: log₂ of the probability relative to chance, one line per pair of words")  # fmt: skip
        figure.legend(handles=[handle], loc="outside upper left")
    style.notes(figure, notes)
    for axes, source in zip(both, PANELS, strict=True):
        name_lines(axes, lines[lines.source == source], lms)
    return figure


def name_lines(axes: Axes, lines: pd.DataFrame, lms: list[LM]) -> None:
    """Label each LM's curve with the distance at which half is left."""
    looks, texts, last, colours = style.looks(lms, apart=True), [], [], []
    for lm in lms:
        line = lines[lines.lm == lm.lm]
        if not len(line):
            continue
        axes.plot(line.distance, line.percent, color=looks[lm.lm].colour, lw=1.1, gid=f"lm {lm.lm}")
        half = line.half_left_words.iloc[0]
        texts.append(f"{lm.label}  {measured_memory.words(half)}")
        last.append((line.distance.iloc[-1], line.percent.iloc[-1]))
        colours.append(looks[lm.lm].colour)
    if last:
        ends.name(axes, texts, last, colours)


def figure_retention(
    view: View, counts: File, memories: File, correlations: File, out: Files
) -> None:
    """Draw the figure to `out` (.pdf, .svg, .png; .csv for the curves, `LINES`).

    `counts` is triggering.csv, `memories` and `correlations` are the data of
    figure_measured_memory and figure_temporal_correlation.
    """
    texts, without = text_curves(comparison.table(counts, COLUMNS))
    mine, lost = lm_curves(
        comparison.table(memories, ["lm", "distance", "change_bits"]),
        comparison.table(correlations, ["lm", "layer", "distance", "correlation", "shuffled"]),
        view.lms,
    )
    notes = [f"too little at {FIRST} to {LAST} words to compare with: {', '.join([*without, *lost])}"] if without or lost else []  # fmt: skip
    lines = pd.concat([texts, mine], ignore_index=True)
    style.write(out, lines, figure_retention_draw, lines, view.lms, notes, empty=notes)
