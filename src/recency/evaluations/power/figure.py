"""Rule figure_power: the chance of finding a ΔLogLik by subjects, sentences and size of the effect."""

from collections.abc import Iterable
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from recency.figures import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MARKERS = "osD^vp"


def main(chances: str | PathLike, out: Iterable[str | PathLike]) -> None:
    """Draw the rows of simulate_power's table that are of the permutation test, and write them."""
    table = pd.read_csv(chances)
    tested = table[table.found.str.startswith("p < ")]
    (found,) = set(tested.found)
    with style.use():
        style.save(draw(tested, found), out, data=tested)


def draw(rows: pd.DataFrame, found: str) -> "Figure":
    """Draw chance by number of subjects: a line for each number of sentences, a panel an effect."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import PercentFormatter

    alpha = float(found.removeprefix("p < "))
    effects = list(dict.fromkeys(rows.effect))
    figure = Figure(figsize=(style.WIDTH, 2.8), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(1, len(effects), sharey=True, squeeze=False)[0]
    for axes, effect in zip(panels, effects, strict=True):
        lines = rows[rows.effect == effect].groupby("sentences", sort=True)
        for index, (sentences, line) in enumerate(lines):
            colour = COLOURS[index % len(COLOURS)]
            around = [line.chance - line.low, line.high - line.chance]
            axes.errorbar(
                line.subjects, line.chance, yerr=np.maximum(around, 0), color=colour, capsize=2,
                marker=MARKERS[index % len(MARKERS)], lw=1.2, elinewidth=0.8,
                label=f"{sentences} sentences",
            )  # fmt: skip
        axes.axhline(alpha, color=style.GREY, lw=0.8, ls=(0, (4, 2)))
        axes.set_title(f"effects × {effect:g}", loc="left")
        axes.set_xlabel("subjects")
        axes.set_xticks(sorted(set(rows.subjects)))
        axes.set_ylim(-0.03, 1.03)
        axes.yaxis.set_major_formatter(PercentFormatter(1))
        axes.grid(axis="y")
    panels[0].set_ylabel("chance of finding it")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=min(len(labels), 4))
    repeats = int(rows.repeats.max())
    text = (
        f"found: {found} in a permutation test on the exploratory partition; {repeats} simulated "
        f"experiments a point, bars 95 % intervals; dashed: {alpha:g}"
    )
    style.notes(figure, [text])
    return figure
