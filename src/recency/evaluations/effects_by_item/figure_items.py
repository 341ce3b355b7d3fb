"""The effect of each item, sorted, partially pooled and unpooled."""

import math

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from recency.evaluations.effects_by_item import results_files
from recency.evaluations.effects_by_item.observed_and_predicted import (
    COLUMNS,
    ITEMS,
    READERS,
    UNPOOLED,
)
from recency.figures import style
from recency.figures.paths import File, Files

PRODUCT = {
    "makes": {"out": ("figure_item_effects", "Effects of items, partially pooled")},
    "reads": ["effects", "by_item=effects_by_item"],
}

_ROW = 0.15  # inches per item
_ACROSS = 3  # panels per row


def draw(totals: pd.DataFrame, items: pd.DataFrame) -> Figure:
    """Draw a panel for each contrast and region; items are sorted by the pooled estimate."""
    panels = list(dict.fromkeys(items.panel))
    across = min(_ACROSS, len(panels))
    down = math.ceil(len(panels) / across)
    most = items[items.source == READERS].groupby("panel").size().max()
    figure = style.figure(down * (_ROW * most + 0.8) + 0.4)
    grid = figure.subplots(down, across, squeeze=False)
    for axes in grid.flat[len(panels) :]:
        axes.set_axis_off()
    for axes, panel in zip(grid.flat, panels, strict=False):
        mine = items[items.panel == panel]
        pooled = mine[mine.source == READERS].sort_values("effect")
        plain = mine[mine.source == UNPOOLED].set_index("item").loc[pooled.item]
        (total,) = totals[(totals.panel == panel) & (totals.source == READERS)].itertuples()
        axes.axvspan(total.low, total.high, color=style.tint(style.GREY), lw=0, zorder=0)
        axes.axvline(total.effect, color=style.GREY, lw=0.8, zorder=1)
        axes.axvline(0, color=style.GREY, lw=0.6, ls=(0, (4, 2)), zorder=1)
        ys = np.arange(len(pooled))
        for rows, shift, look in (
            (plain, -0.18, {"color": "#9a9a9a", "marker": "o", "mfc": "white"}),
            (pooled, 0.18, {"color": "black", "marker": "o"}),
        ):
            ends = np.abs(np.stack([rows.effect - rows.low, rows.high - rows.effect]))
            axes.errorbar(rows.effect, ys + shift, xerr=np.nan_to_num(ends), ls="none", ms=3,
                          elinewidth=0.8, **look)  # fmt: skip
        axes.set_yticks(ys, pooled.item.astype(str), size=style.SMALL)
        axes.set_ylim(-0.7, len(pooled) - 0.3)
        axes.set_title(panel, loc="left")
        axes.set_xlabel(style.with_unit("Effect", total.unit))
        axes.grid(axis="x")
    handles = [
        style.handle(color="black", marker="o", label="partially pooled, 95 % interval"),
        style.handle(color="#9a9a9a", marker="o", mfc="white", label="unpooled"),
        style.handle(color=style.GREY, label="mean effect"),
    ]
    figure.legend(handles=handles, loc="outside upper left", ncols=3)
    return figure


def main(*, effects: File, by_item: File, out: Files) -> None:
    """Draw the figure to `out` (.pdf, .svg, .png; .csv for the values)."""
    totals = results_files.read(effects, COLUMNS, [])
    rows = results_files.read(by_item, ITEMS, [])
    rows = rows[rows.source.isin([READERS, UNPOOLED])]
    style.write(out, rows, draw, totals, rows)
