"""Effects predicted from each LM's surprisal against the readers', by construction and by item."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from recency.evaluations.effects_by_item import results_files
from recency.evaluations.effects_by_item.observed_and_predicted import COLUMNS, ITEMS, READERS
from recency.figures import comparison, style
from recency.figures.comparison import LM, Described
from recency.figures.paths import File, Files

PRODUCT = {
    "makes": {"out": ("figure_predicted_effects", "Effects predicted from surprisal")},
    "reads": ["effects", "by_item=effects_by_item"],
    "settings": ["lms"],
    "when": "fillers",
}

_PANEL = 2.5  # inches
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00")


def paired_with_readers(rows: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Return each LM's effects with the readers' of the same keys: columns …_observed."""
    ends = ["effect", "low", "high"]
    readers = rows[rows.source == READERS].set_index(keys)[ends].add_suffix("_observed")
    return rows[~rows.source.str.startswith(READERS)].join(readers, on=keys)


def draw(totals: pd.DataFrame, items: pd.DataFrame, lms: list[LM]) -> Figure:
    """Draw a row for each construction and a column for each LM; large points are means over items."""
    contrasts, regions = list(dict.fromkeys(totals.contrast)), list(dict.fromkeys(totals.region))
    figure = style.figure(_PANEL * len(contrasts) + 0.5, max(style.WIDTH, _PANEL * len(lms)))
    grid = figure.subplots(len(contrasts), len(lms), sharex="row", sharey="row", squeeze=False)
    looks = {
        region: (_COLOURS[n % len(_COLOURS)], style.MARKERS[(n + 4) % len(style.MARKERS)])
        for n, region in enumerate(regions)
    }
    for across, contrast in zip(grid, contrasts, strict=True):
        for axes, lm in zip(across, lms, strict=True):
            for region, (colour, marker) in looks.items():
                for rows, how in (
                    (items, {"ms": 2.5, "elinewidth": 0.4, "alpha": 0.45}),
                    (totals, {"ms": 7, "elinewidth": 1.2, "mec": "white", "zorder": 4}),
                ):
                    at = (rows.contrast == contrast) & (rows.source == lm.lm)
                    _points(axes, rows[at & (rows.region == region)], color=colour,
                            marker=marker, **how)  # fmt: skip
            axes.axline((0, 0), slope=1, color=style.GREY, lw=0.8, ls=(0, (4, 2)), zorder=1)
            axes.grid(axis="both")
        label, unit = totals.loc[totals.contrast == contrast, ["contrast_label", "unit"]].iloc[0]
        across[0].set_ylabel(f"{label}\n{style.with_unit('observed', unit)}")
        for axes in across:
            axes.set_xlabel(style.with_unit("predicted", unit))
    for axes, lm in zip(grid[0], lms, strict=True):
        axes.set_title(lm.label)
    handles = [
        style.handle(color=colour, marker=marker, label=region.replace("_", " "))
        for region, (colour, marker) in looks.items()
        if region
    ]
    handles += [style.handle(color=style.GREY, ls=(0, (4, 2)), label="predicted = observed")]
    figure.legend(handles=handles, loc="outside upper left", ncols=4)
    return figure


def _points(axes, rows: pd.DataFrame, **how) -> None:
    """Draw points with the intervals of both effects."""
    x, y = ([rows[f"effect{of}"] - rows[f"low{of}"], rows[f"high{of}"] - rows[f"effect{of}"]]
            for of in ("", "_observed"))  # fmt: skip
    axes.errorbar(rows.effect, rows.effect_observed, np.stack(y), np.stack(x), ls="none", **how)


def main(*, effects: File, by_item: File, out: Files, lms: Described) -> None:
    """Draw the figure to `out` (.pdf, .svg, .png; .csv for the values)."""
    models, _ = comparison.records(lms, [])
    keys = ["contrast", "region"]
    totals = paired_with_readers(results_files.read(effects, COLUMNS, models), keys)
    rows = paired_with_readers(results_files.read(by_item, ITEMS, models), [*keys, "item"])
    style.write(out, pd.concat([totals, rows]), draw, totals, rows, models)
