"""Response function of each delayed effect with its interval: a column per LM, a row per effect."""

import textwrap

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from recency.evaluations.delays import delay_curves
from recency.figures import comparison, style
from recency.figures.comparison import LM, Described, Response
from recency.figures.paths import File, Files

PRODUCT = {
    "makes": {"out": ("figure_delays", "Effects by delay")},
    "reads": ["delays", "curves=delay_curves", "not_run"],
    "settings": ["lms", "responses=delayed_responses"],
}

HEIGHT = 1.6  # inches per row
PANEL = 1.6  # inches, the minimum width of a panel
AXES = {"lags": "words before", "seconds": "seconds since its onset"}


def draw(
    rows: pd.DataFrame,
    points: pd.DataFrame,
    lms: list[LM],
    responses: list[Response],
    words: list[str],
) -> Figure:
    """Draw the panels; panels of a row share their scales."""
    looks, shown = style.looks(lms, apart=True), [lm for lm in lms if (points.lm == lm.lm).any()]
    panels = [
        (response, *key)
        for response in responses
        for key in dict.fromkeys(
            points[points.response == response.label][["design", "term"]].itertuples(
                index=False, name=None
            )
        )
    ]
    width = max(style.WIDTH, PANEL * len(shown) + 0.6)
    figure = style.figure(0.7 + HEIGHT * len(panels), width)
    grid = figure.subplots(len(panels), len(shown), sharex="row", sharey="row", squeeze=False)
    for across, (response, design, term) in zip(grid, panels, strict=True):
        same = (points.response == response.label) & (points.design == design)
        mine = points[same & (points.term == term)]
        is_lags = (mine.kind == "lags").all()
        for axes, lm in zip(across, shown, strict=True):
            colour, curve = looks[lm.lm].colour, mine[mine.lm == lm.lm]
            axes.axhline(0, color=style.GREY, lw=0.6, zorder=1)
            if is_lags:
                ends = [curve.value - curve.low, curve.high - curve.value]
                axes.errorbar(curve.x, curve.value, ends, color=colour, fmt="o-", ms=3, lw=1,
                              gid=f"lags {lm.lm}")  # fmt: skip
            else:
                axes.fill_between(curve.x, curve.low, curve.high, color=colour, alpha=0.2, lw=0)
                axes.plot(curve.x, curve.value, color=colour, gid=f"kernel {lm.lm}")
            delay_curve = rows[(rows.response == response.label) & (rows.lm == lm.lm)]
            delay_curve = delay_curve[(delay_curve.design == design) & (delay_curve.term == term)]
            if len(delay_curve):
                row = delay_curve.iloc[0]
                text = f"sum {style.number(row.cumulative, 2)}"
                if pd.notna(row.low):
                    text += f"\n({style.interval(row.low, row.high, decimals=2)})"
                axes.text(0.97, 0.97, text, transform=axes.transAxes, va="top", ha="right",
                          size=style.SMALL)  # fmt: skip
            axes.margins(y=0.25)
            axes.grid(axis="both")
            axes.set_xlabel(AXES["lags" if is_lags else "seconds"])
            axes.xaxis.set_major_locator(MaxNLocator(4, integer=bool(is_lags)))
            axes.yaxis.set_major_locator(MaxNLocator(4))
            style.plain_ticks(axes)
        response_rows = rows[rows.response == response.label]
        unit = style.UNITS.get(str(response_rows.unit.iloc[0]), "")
        predictor = str(mine.predictor.iloc[0]).replace("_", " ")
        name = "\n".join(textwrap.wrap(f"{response.label}: {predictor}", 20))
        across[0].set_ylabel(f"{name}\neffect ({unit})")
    for axes, lm in zip(grid[0], shown, strict=True):
        axes.set_title("\n".join(textwrap.wrap(lm.label, 16)), size=9)
    handles = [Patch(color=style.GREY, alpha=0.3, lw=0, label="pointwise 95 % interval")]
    figure.legend(handles=handles, loc="outside upper left")
    explanation = "effect of one more unit of the predictor (a bit of surprisal) at one word; sum: at every word"
    style.notes(figure, [explanation, *words])
    return figure


def main(
    *,
    delays: File,
    curves: File,
    out: Files,
    lms: Described,
    responses: Described,
    not_run: File | None = None,
) -> None:
    """Draw the panels to `out` (.pdf, .svg, .png, .csv)."""
    columns = delay_curves.COLUMNS
    rows, models, done, words = comparison.read_rows(delays, columns, lms, responses, not_run)
    points = comparison.table(curves, delay_curves.CURVES)
    points = comparison.with_responses(points, done, models)
    if points.empty:
        words = [*words, *comparison.failed_responses(rows)] or ["no delayed effect was fitted"]
    style.write(out, points, draw, rows, points, models, done, words, empty=words)
