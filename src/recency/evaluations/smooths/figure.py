"""Each smooth with its band and the linear fit: a column per LM, a row per response and predictor."""

import textwrap

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from recency.evaluations.smooths import curves as made
from recency.figures import comparison, style
from recency.figures.comparison import LM, Described, Response
from recency.figures.paths import File, Files

PRODUCT = {
    "makes": {"out": ("figure_smooths", "Smooth and linear effects of surprisal")},
    "reads": ["smooths", "curves=smooth_curves", "not_run"],
    "settings": ["lms", "responses=additive_responses"],
}

HEIGHT = 1.55  # inches per row
PANEL = 1.55  # inches, minimum width of a panel
SHARE = 0.22  # share of the histogram in a panel's height
#: End of a predictor's name → its unit, for the axis.
UNITS = {"surprisal": "bits", "unigram": "bits", "length": "characters"}


def axis_label(predictor: str) -> str:
    """Return a predictor's label with its unit."""
    unit = UNITS.get(predictor.rpartition("_")[2])
    name = predictor.replace("_", " ")
    return f"{name} ({unit})" if unit else name


def draw(
    rows: pd.DataFrame,
    points: pd.DataFrame,
    lms: list[LM],
    responses: list[Response],
    words: list[str],
) -> Figure:
    """Draw the panels; panels of a row share their scales."""
    looks, shown = style.looks(lms), [lm for lm in lms if (points.lm == lm.lm).any()]
    panels = [
        (response, predictor)
        for response in responses
        for predictor in dict.fromkeys(points[points.response == response.label].predictor)
    ]
    width = max(style.WIDTH, PANEL * len(shown) + 0.6)
    figure = style.figure(0.7 + HEIGHT * len(panels), width)
    grid = figure.subplots(len(panels), len(shown), sharex="row", sharey="row", squeeze=False)
    for across, (response, predictor) in zip(grid, panels, strict=True):
        mine = points[(points.response == response.label) & (points.predictor == predictor)]
        ends = mine[mine.kind != "count"]
        low, high = ends.low.min(), ends.high.max()
        floor = low - SHARE * (high - low) * 1.25
        counted = mine[mine.kind == "count"].groupby("lm")  # per bit, whatever the bin width
        most = max((rows.value / rows.x.diff().iloc[-1]).max() for _, rows in counted)
        for axes, lm in zip(across, shown, strict=True):
            kinds = dict(list(mine[mine.lm == lm.lm].groupby("kind")))
            axes.axhline(0, color=style.GREY, lw=0.6, zorder=1)
            if "count" in kinds:
                counts = kinds["count"]
                step = counts.x.diff().iloc[-1]
                tall = counts.value / step / most * SHARE * (high - low)
                axes.bar(counts.x, tall, step, bottom=floor, color="#bdbdbd", lw=0, zorder=1)
            for kind, colour in (("line", style.GREY), ("smooth", looks[lm.lm].colour)):
                if kind not in kinds:
                    continue
                curve, dashes = kinds[kind], (0, (4, 2)) if kind == "line" else "-"
                if kind == "smooth":
                    axes.fill_between(curve.x, curve.low, curve.high, color=colour, alpha=0.2, lw=0)
                else:
                    for edge in (curve.low, curve.high):
                        axes.plot(curve.x, edge, color=colour, ls=(0, (1, 2)), lw=0.7)
                axes.plot(curve.x, curve.value, color=colour, ls=dashes, gid=f"{kind} {lm.lm}")
            smooth = rows[(rows.lm == lm.lm) & (rows.response == response.label)]
            smooth = smooth[smooth.predictor == predictor]
            if len(smooth):
                row = smooth.iloc[0]
                first = predictor == next(p for r, p in panels if r == response)
                shows = first and pd.notna(row.delta_nonlinear)
                gain = f"\nΔLogLik {style.signed(row.delta_nonlinear)}" if shows else ""
                axes.text(0.03, 0.97, f"edf {row.edf:.1f}{gain}", transform=axes.transAxes, va="top",
                          size=style.SMALL)  # fmt: skip
            axes.set_ylim(floor, high + 0.3 * (high - low))
            axes.grid(axis="both")
            axes.set_xlabel(axis_label(predictor))
            axes.xaxis.set_major_locator(MaxNLocator(4))
            axes.yaxis.set_major_locator(MaxNLocator(4))
            style.plain_ticks(axes)
        unit = style.UNITS.get(str(rows[rows.response == response.label].unit.iloc[0]), "")
        name = "\n".join(textwrap.wrap(response.label, 18))
        across[0].set_ylabel(f"{name}\neffect ({unit})")
    for axes, lm in zip(grid[0], shown, strict=True):
        axes.set_title("\n".join(textwrap.wrap(lm.label, 16)), size=9)
    handles = [
        style.handle(color="black", label="smooth"),
        style.handle(color=style.GREY, ls=(0, (4, 2)), label="line"),
        Patch(
            color=style.GREY,
            alpha=0.3,
            lw=0,
            label=f"± {made.BAND:.0f} standard errors (line: dotted)",
        ),
        Patch(color="#bdbdbd", lw=0, label="number of observations"),
    ]
    figure.legend(handles=handles, loc="outside upper left", ncols=4)
    gains = rows.delta_nonlinear.notna().any()
    explanation = "ΔLogLik: smooths relative to lines, in nats, on the exploratory partition"
    style.notes(figure, [*([explanation] if gains else []), *words])
    return figure


def main(
    *,
    smooths: File,
    curves: File,
    out: Files,
    lms: Described,
    responses: Described,
    not_run: File | None = None,
) -> None:
    """Draw the panels to `out` (.pdf, .svg, .png, .csv)."""
    columns = made.COLUMNS
    rows, models, done, words = comparison.read_rows(smooths, columns, lms, responses, not_run)
    points = comparison.with_responses(comparison.table(curves, made.CURVES), done, models)
    style.write(out, points, draw, rows, points, models, done, words, empty=words)
