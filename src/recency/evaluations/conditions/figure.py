"""Mean response and mean surprisal by condition, with 95 % intervals over stimuli."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from recency.evaluations.conditions.means import RESPONSE
from recency.evaluations.conditions.table import read
from recency.figures import comparison, style
from recency.figures.comparison import LM, Described
from recency.figures.paths import File, Files

PRODUCT = {
    "makes": {"out": ("figure_conditions", "Responses and surprisal by condition")},
    "reads": ["conditions"],
    "settings": ["lms", "measure"],
}

_HEIGHT = 2.3  # height in inches of a region's panels
_SPREAD = 0.2  # LMs' spread, as a share of the distance between two conditions


def draw(rows: pd.DataFrame, lms: list[LM]) -> Figure:
    """Draw a row for each region: the response by condition, and the surprisal of each LM.

    Parameters
    ----------
    rows : DataFrame
        Output of `table.read`.
    lms : list of LM
        The LMs, in their order.
    """
    looks, regions = style.looks(lms, apart=True), list(pd.unique(rows["region"]))
    figure = style.figure(_HEIGHT * len(regions) + 0.6)
    grid = figure.subplots(len(regions), 2, squeeze=False)
    for (left, right), region in zip(grid, regions, strict=True):
        part = rows[rows["region"] == region]
        places = {condition: n for n, condition in enumerate(pd.unique(part["condition"]))}
        block = part[part["variable"] == RESPONSE]
        _line(left, block, places, 0.0, {"color": "black", "marker": "o"})
        shifts = np.linspace(-0.5, 0.5, len(lms)) * _SPREAD if len(lms) > 1 else [0.0]
        for lm, shift in zip(lms, shifts, strict=True):
            look = looks[lm.lm]
            how = {"color": look.colour, "marker": look.marker, "mfc": look.face, "label": lm.label}
            _line(right, part[part["variable"] == lm.lm], places, shift, how)
        name = region.replace("_", " ")
        left.set_ylabel(style.with_unit(block["label"].iloc[0], block["unit"].iloc[0]))
        right.set_ylabel("Surprisal (bits)")
        for axes in (left, right):
            axes.set_xticks(list(places.values()), list(places))
            axes.set_xlim(-0.5, len(places) - 0.5)
            axes.grid(axis="y")
            if len(regions) > 1:
                axes.set_title(name, loc="left")
    handles = grid[0][1].get_legend_handles_labels()[0]
    figure.legend(handles=handles, loc="outside upper left", ncols=3)
    return figure


def _line(axes, rows: pd.DataFrame, places: Mapping, shift: float, how: Mapping) -> None:
    """Draw means and their intervals."""
    x = rows["condition"].map(places).to_numpy(dtype=float) + shift
    mean = rows["mean"].to_numpy()
    ends = np.nan_to_num(np.stack([mean - rows["low"], rows["high"] - mean]))
    axes.errorbar(x, mean, ends, lw=1, elinewidth=0.9, capsize=2, ms=5, **how)


def main(*, conditions: File, out: Files, lms: Described, measure: str) -> None:
    """Draw the figure to `out` (.pdf, .svg, .png; .csv for the values).

    `conditions` is the CSV of `means.main`, `lms` have lm and label, `measure` is the response's.
    """
    lms = list(lms)
    rows = read(conditions, lms, measure)
    models, _ = comparison.records(lms, [])
    style.write(out, rows, draw, rows, models)
