"""Rule figure_endpoint: power and size of candidate endpoints, by factor of the simulation."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from recency.evaluations.endpoint import simulate
from recency.evaluations.endpoint.simulate import ALPHA, DEFAULT, INTERVALS
from recency.figures import style
from recency.figures.paths import File, Files

POWER, SIZE = "#0072B2", "#D55E00"
ROW = 0.165
"""Height of a row in inches."""


def main(candidates: File, out: Files) -> None:
    """Draw simulate_endpoint's table, and write the drawn rows with the figure."""
    rows = pd.read_csv(candidates)
    rows = rows[[INTERVALS[row.data][0] == row.interval for row in rows.itertuples()]]
    style.write(out, rows, draw, rows)


def draw(rows: pd.DataFrame) -> Figure:
    """Draw a row for each candidate, and a panel for each factor that varies.

    Parameters
    ----------
    rows
        Columns of recency.evaluations.endpoint.simulate.COLUMNS, one interval by candidate.
    """
    candidates = simulate.order(list(zip(rows.baseline, rows.likelihood, rows.data, strict=True)))
    factors = [name for name in simulate.FACTORS if rows.setting.str.startswith(f"{name}=").any()]
    factors = factors or ["subjects"]
    figure = style.figure(ROW * (len(candidates) + 3) + 0.9)
    panels = figure.subplots(1, len(factors), sharey=True, squeeze=False)[0]
    heights = _heights(candidates)
    for axes, factor in zip(panels, factors, strict=True):
        values = _draw_factor(axes, rows, candidates, heights, factor)
        listed = ", ".join(style.tick(value) for value in values)
        axes.set_title(f"{simulate.FACTORS[factor]}\n{listed}", fontsize=style.SMALL)
        axes.set_xlim(-0.04, 1.04)
        axes.set_xticks([0, 0.5, 1], ["0", "50", "100 %"])
        axes.axvline(ALPHA, color=style.GREY, lw=0.7, ls=(0, (4, 2)), zorder=0)
        axes.grid(axis="y")
        axes.tick_params(axis="y", length=0)
    first = panels[0]
    labels = [
        f"{simulate.DATA[data]}, {simulate.LIKELIHOODS[likelihood]}"
        for _, likelihood, data in candidates
    ]
    first.set_yticks(heights, labels)
    for label, candidate in zip(first.get_yticklabels(), candidates, strict=True):
        label.set_fontweight("bold" if candidate == simulate.PRIMARY else "normal")
    for baseline in simulate.BASELINES:
        tops = [
            h for h, candidate in zip(heights, candidates, strict=True) if candidate[0] == baseline
        ]
        if tops:
            first.text(
                -0.06, min(tops) - 0.9, f"baseline {baseline}", style="italic", ha="right",
                va="center", transform=first.get_yaxis_transform(), fontsize=style.SMALL,
            )  # fmt: skip
    first.set_ylim(max(heights) + 0.7, -1.6)
    _legend(figure)
    repeats = sorted(set(rows.repeats))
    many = f"{repeats[0]} to {repeats[-1]}" if len(repeats) > 1 else f"{repeats[0]}"
    notes = [
        "marks from light to dark: the values above a panel, from small to large",
        f"other factors at their defaults; {many} studies per mark; dashed: {100 * ALPHA:g} %",
    ]
    style.notes(figure, notes)
    return figure


def _heights(candidates: list[tuple[str, str, str]]) -> np.ndarray:
    """Return the height of each row, from the top, with a gap before each baseline."""
    gaps = np.cumsum([i > 0 and c[0] != candidates[i - 1][0] for i, c in enumerate(candidates)])
    return np.arange(len(candidates)) + 1.5 * gaps


def _draw_factor(
    axes: Axes,
    rows: pd.DataFrame,
    candidates: list[tuple[str, str, str]],
    heights: np.ndarray,
    factor: str,
) -> list[float]:
    """Draw power and size at each value of a factor, and return the values."""
    varied = rows[(rows.setting == DEFAULT) | rows.setting.str.startswith(f"{factor}=")]
    values = sorted(set(varied[factor]))
    for index, value in enumerate(values):
        share = 0.35 + 0.65 * (index + 1) / len(values)
        at = varied[varied[factor] == value].set_index(["baseline", "likelihood", "data"])
        for height, candidate in zip(heights, candidates, strict=True):
            if candidate not in at.index:
                continue
            row = at.loc[candidate]
            axes.plot(row.power, height, "o", color=style.tint(POWER, share), ms=4.5, mew=0)
            axes.plot(row["size"], height, "|", color=style.tint(SIZE, share), ms=6, mew=1.3)
    return values


def _legend(figure: Figure) -> None:
    handles = [
        style.handle(marker="o", color=POWER, ls="", ms=4.5, label="power (LM a is closer)"),
        style.handle(marker="|", color=SIZE, ls="", ms=6, mew=1.3, label="size (equally close)"),
    ]
    figure.legend(handles=handles, loc="outside upper right", ncols=2)
