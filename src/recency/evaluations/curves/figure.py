"""Learning curves: one line per LM against the number of training tokens."""

import math
import textwrap
from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator

from recency.evaluations.curves import rows as reading
from recency.figures import comparison, style
from recency.figures.comparison import LM, Described
from recency.figures.intervals import TOTAL
from recency.figures.paths import File, Files

PRODUCT = {
    "makes": {"out": ("figure_curves", "Learning curves")},
    "reads": ["curves", "not_run"],
    "settings": ["lms=plain_lms", "responses", "baseline=plain_baseline"],
}

ACROSS = 4  # small panels per row
HEIGHT, LARGE = 1.4, 2.5  # inches of a row of small panels, and of the large ones


def draw(rows: pd.DataFrame, lms: list[LM], baseline: str, words: list[str]) -> Figure:
    """Draw total ΔLogLik and its difference from the baseline large, and all other panels below."""
    looks, responses = style.looks(lms, apart=True), reading.responses_of(rows)
    large = bool(len(reading.of(rows, "delta_loglik", TOTAL)))
    panels = (
        [("delta_loglik", label) for label in responses] if len(responses) > 1 or not large else []
    )
    panels += [(q, "") for q in reading.AXES if q != "delta_loglik" and len(reading.of(rows, q))]
    below = math.ceil(len(panels) / ACROSS)
    heights = [LARGE] * large + [HEIGHT * below] * bool(below)
    figure = style.figure(sum(heights) + 0.55)
    parts = list(figure.subfigures(len(heights), height_ratios=heights, squeeze=False)[:, 0])
    named = comparison.find(lms, baseline).label
    if large:
        left, right = parts.pop(0).subplots(1, 2)
        total = reading.of(rows, "delta_loglik", TOTAL)
        many = len(responses)
        scope = f"summed over {many} responses" if many > 1 else responses[0]
        _lines(left, total, lms, looks, "value")
        left.set_ylabel(f"ΔLogLik (nats),\n{scope}")
        _lines(right, total, lms, looks, "over_baseline", band=True)
        right.axhline(0, color=looks[baseline].colour, ls=(0, (4, 2)), lw=1, zorder=1.2)
        right.set_ylabel(f"above {named}\nat the same step")
        for axes in (left, right):
            axes.set_xlabel("tokens seen (millions, log scale)")
    small = parts[0].subplots(below, ACROSS, squeeze=False).ravel() if below else []
    for axes in small[len(panels) :]:
        axes.remove()
    for number, (axes, (quantity, response)) in enumerate(zip(small, panels, strict=False)):
        part = reading.of(rows, quantity, response)
        _lines(axes, part, lms, looks, "value", band=quantity != "delta_loglik")
        title = response or reading.AXES[quantity].format(unit=reading.unit(rows))
        axes.set_title("\n".join(textwrap.wrap(title, 21)), size=style.SMALL)
        if quantity == "perplexity":
            axes.set_yscale("log")
            round_ticks(axes.yaxis)
        if quantity == "delta_loglik" and number % ACROSS == 0:
            axes.set_ylabel("ΔLogLik", size=style.SMALL)
        if number + ACROSS >= len(panels):
            axes.set_xlabel("tokens (M)", size=style.SMALL)
    for axes in figure.axes:
        _count(axes, rows.tokens.min(), rows.tokens.max(), axes.get_title() == "")
        axes.grid(which="major")
    figure.legend(handles=key(lms), loc="outside upper left", ncols=min(5, len(lms)))
    style.notes(figure, [*_explained(rows, named), *words])
    return figure


def _explained(rows: pd.DataFrame, baseline: str) -> list[str]:
    """Return notes on the lines and bands."""
    seeds = int(rows.seeds.max())
    sentences = [f"lines: means over {seeds} seeds"] if seeds > 1 else []
    if rows.low_over_baseline.notna().any():
        how = "seeds and subjects or sentences" if seeds > 1 else "subjects or sentences"
        sentences.append(f"bands of ΔLogLik above {baseline}: 95 % intervals of the difference over {how}")  # fmt: skip
    return sentences


def _lines(
    axes: Axes, rows: pd.DataFrame, lms: list[LM], looks: Mapping, value: str, band: bool = False
) -> None:
    """Draw one line per LM and its 95 % interval."""
    ends = ("low", "high") if value == "value" else (f"low_{value}", f"high_{value}")
    for lm in lms:
        look, mine = looks[lm.lm], rows[(rows.lm == lm.lm) & rows[value].notna()]
        if mine.empty:
            continue
        if band and mine[ends[0]].notna().any():
            axes.fill_between(mine.tokens, mine[ends[0]], mine[ends[1]], color=look.colour,
                              alpha=0.13, lw=0, gid=f"band {value} {lm.lm}")  # fmt: skip
        axes.plot(mine.tokens, mine[value], look.marker, color=look.colour, mfc=look.face, ms=3.2,
                  ls=":" if lm.applied == "inference" else "-", lw=1.1, gid=f"{value} {lm.lm}")  # fmt: skip


def _count(axes: Axes, first: float, last: float, large: bool) -> None:
    """Set round ticks, in millions, on the axis of tokens."""
    style.token_ticks(axes, first, last, (1, 2, 5) if large else (1,))
    axes.set_xlim(first * 0.8, last * 1.25)
    if axes.get_yscale() == "linear":
        axes.yaxis.get_major_locator().set_params(nbins=5)
        axes.yaxis.set_major_formatter(style.tick)


def round_ticks(axis: Axis) -> None:
    """Set few round ticks on a logarithmic axis."""
    axis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=6))
    axis.set_major_formatter(style.tick)
    axis.set_minor_locator(NullLocator())


def key(lms: list[LM]) -> list:
    """Return the legend entry of each LM."""
    return [
        style.handle(color=look.colour, marker=look.marker, mfc=look.face, ms=4,
               ls=":" if lm.applied == "inference" else "-", label=lm.label)
        for lm, look in zip(lms, style.looks(lms, apart=True).values(), strict=True)
    ]  # fmt: skip


def main(
    *,
    curves: File,
    out: Files,
    lms: Described,
    responses: Described,
    baseline: str,
    not_run: File | None = None,
) -> None:
    """Draw curves.csv to `out` (.pdf, .svg, .png; .csv with all of its rows, labelled)."""
    rows, models, words = reading.read(curves, lms, responses, not_run)
    style.write(out, rows, draw, rows, models, baseline, words, empty=words)
