"""ΔLogLik on held-out folds as points with intervals: a panel per response, a row per LM."""

import math

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from recency.evaluations.cross_validation import table
from recency.figures import style
from recency.figures.comparison import LM, Described, Response
from recency.figures.paths import File, Files

PRODUCT = {
    "makes": {"out": ("figure_cross_validation", "Cross-validated ΔLogLik of each LM")},
    "reads": ["cross_validation", "not_run"],
    "settings": ["lms", "responses", "baseline"],
}

COLUMNS = 3
#: Cluster → vertical offset and line width of its interval.
INTERVALS = {"subject": (-0.13, 2.4), "sentence": (0.13, 1.0)}


def draw(
    rows: pd.DataFrame, lms: list[LM], responses: list[Response], baseline: str, words: list[str]
) -> Figure:
    """Draw the panels, each on its own scale, with a dashed line at the baseline's ΔLogLik."""
    looks, shown = style.looks(lms), [lm for lm in lms if (rows.lm == lm.lm).any()]
    wide = min(COLUMNS, len(responses))
    deep = math.ceil(len(responses) / wide)
    figure = style.figure(0.8 + deep * (0.65 + 0.24 * len(shown)))
    grid = figure.subplots(deep, wide, sharey=True, squeeze=False).ravel()
    for axes, response in zip(grid, responses, strict=False):
        block = rows[rows.response == response.label].set_index("lm")
        axes.axvline(0, color=style.GREY, lw=0.7, zorder=1)
        if baseline in block.index and not math.isnan(block.per_delta_loglik[baseline]):
            axes.axvline(block.per_delta_loglik[baseline], color=style.GREY, ls=(0, (4, 2)), lw=0.9)
        for y, lm in enumerate(shown):
            if lm.lm not in block.index:
                continue
            row, look = block.loc[lm.lm], looks[lm.lm]
            for cluster, (off, width) in INTERVALS.items():
                ends = [row[f"per_{end}_{cluster}"] for end in ("low", "high")]
                axes.plot(ends, [y + off] * 2, color=look.colour, lw=width, gid=f"{cluster} {lm.lm}",
                          solid_capstyle="butt", zorder=2)  # fmt: skip
            axes.plot(row.per_delta_loglik, y, look.marker, mfc=look.face, mec=look.colour, ms=5,
                      gid=f"dot {lm.lm}", zorder=3)  # fmt: skip
        first = block.iloc[0]
        unit = style.UNITS.get(first.unit, first.unit)
        unit = f"{unit}, " if unit and first.unit != "event" else ""
        axes.set_title(f"{response.label}\n{unit}n = {first.n:,}", size=8.5)
        axes.set_xlabel(f"ΔLogLik of {table.PER:,} obs. (nats)")
        axes.xaxis.set_major_locator(MaxNLocator(4))
        axes.xaxis.set_major_formatter(style.tick)
        axes.grid(axis="x")
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
    grid[0].set_yticks(range(len(shown)), [lm.label for lm in shown])
    grid[0].set_ylim(len(shown) - 0.5, -0.5)
    for axes in grid[len(responses) :]:
        axes.remove()
    label = next((lm.label for lm in lms if lm.lm == baseline), baseline)
    handles = [
        style.handle(color=style.GREY, lw=width, label=f"95 % interval by {cluster}")
        for cluster, (_, width) in INTERVALS.items()
    ]
    handles.append(
        style.handle(color=style.GREY, ls=(0, (4, 2)), lw=0.9, label=f"baseline: {label}")
    )
    figure.legend(handles=handles, loc="outside upper left", ncols=3)
    style.notes(figure, [f"ΔLogLik{table.relative_to(rows)}, on {table.folds(rows)}", *words])
    return figure


def main(
    *,
    cross_validation: File,
    out: Files,
    lms: Described,
    responses: Described,
    baseline: str,
    not_run: File | None = None,
) -> None:
    """Draw the panels to `out` (.pdf, .svg, .png, .csv)."""
    rows, models, done, words = table.read(cross_validation, lms, responses, not_run)
    ends = [f"per_{end}_{cluster}" for cluster in INTERVALS for end in ("low", "high")]
    data = rows[["lm", "label", "response", "unit", "n", "per_delta_loglik", *ends]]
    style.write(out, data, draw, rows, models, done, baseline, words, empty=words)
