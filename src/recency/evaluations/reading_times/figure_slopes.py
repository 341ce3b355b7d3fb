"""ΔLogLik against the slope shared by all heads, mixed slopes dashed (Clark et al. 2025, Fig. 4)."""

import math
from collections.abc import Mapping
from fractions import Fraction

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from matplotlib.ticker import NullLocator

from recency.evaluations.reading_times.figure_delta_loglik import sentences
from recency.figures import comparison, encoding, papers, style
from recency.figures import intervals as interval_files
from recency.figures.comparison import Comparison, View
from recency.figures.intervals import TOTAL, Intervals, against, explained
from recency.figures.paths import File, Files

PRODUCTS = {
    "main": {
        "makes": {"out": ("figure_slopes", "ΔLogLik by slope")},
        "reads": ["delta_loglik", "intervals=delta_loglik_intervals", "not_run"],
        "published": "delta_loglik",
        "settings": ["lms", "responses"],
        "when": "slopes",
    }
}


def name(slope: float) -> str:
    """Return a slope as in the paper: 1/256, 1/4, 1, 16; others as decimals."""
    fraction = Fraction(slope).limit_denominator(4096)
    return str(fraction) if fraction == Fraction(slope) else f"{slope:.4g}"


def draw(
    result: Comparison,
    bounds: Intervals,
    slopes: Mapping[str, float],
    published: pd.Series | None = None,
) -> Figure:
    """Draw a line over slopes for -I and one for -TI, and a dashed line for every other LM.

    Dashes of coinciding lines alternate. The intervals of the other LMs are at the right. `published` are
    the totals by LM, NaN where there is none.
    """
    looks, totals = style.looks(result.lms), result.totals
    figure = style.figure(4.2)
    axes = figure.add_subplot()
    axes.set_xscale("log", base=2)
    uniform = sorted((lm for lm in result.lms if lm.lm in slopes), key=lambda lm: slopes[lm.lm])
    chains = comparison.grouped(uniform, lambda lm: (lm.kind, lm.applied, lm.network))
    seen = set()
    for chain in sorted(chains, key=lambda chain: chain[0].applied):
        look, keys, applied = looks[chain[0].lm], [lm.lm for lm in chain], chain[0].applied
        label = f"one slope for all heads, {'-I' if applied == 'inference' else '-TI'}"
        axes.plot(
            [slopes[key] for key in keys], totals[keys], marker=look.marker, color=look.colour,
            mfc=look.face, ls=":" if applied == "inference" else "-", ms=6, zorder=4,
            gid=f"line {' '.join(keys)}",
            label="_nolegend_" if label in seen else label,
        )  # fmt: skip
        seen.add(label)
    applied_of = {lm.lm: lm.applied for lm in result.lms}
    for key, slope in slopes.items():
        low, high = against(bounds, result, key, TOTAL)
        if not math.isnan(low):
            x = slope * 2 ** (-0.07 if applied_of[key] == "inference" else 0.07)  # offset
            alpha = 0.45 if applied_of[key] == "inference" else 0.8
            axes.plot([x, x], [low, high], "_-", color=looks[key].colour, lw=0.9, ms=4, zorder=3,
                      alpha=alpha, gid=f"interval {key}", label="_nolegend_")  # fmt: skip
    across = [lm for lm in result.lms if lm.lm not in slopes]
    dashed = [lm for lm in across if lm.applied != "none"]
    for lm in across:
        # A broad pale line for the baseline, and alternating dashes, so that each line is visible.
        look, key = looks[lm.lm], lm.lm
        how = {"color": style.tint(look.colour, 0.35), "lw": 4, "zorder": 1.5}
        if lm in dashed:
            dashes = style.dashes(dashed.index(lm), len(dashed))
            pale = lm.applied == "inference"  # otherwise -I and -TI of one bias would look the same
            colour = style.tint(look.colour, 0.5) if pale else look.colour
            how = {"color": colour, "ls": dashes, "lw": 1.4, "zorder": 2}
        label = f"{'' if lm in dashed else 'baseline: '}{lm.label}"
        axes.axhline(totals[key], label=label, gid=f"line {key}", **how)
        low, high = against(bounds, result, key, TOTAL)
        if not math.isnan(low):
            x = 1.01 + 0.015 * across.index(lm)
            axes.plot([x, x], [low, high], "_-", color=look.colour, lw=0.9, ms=4, clip_on=False,
                      transform=axes.get_yaxis_transform(), gid=f"interval {key}",
                      label="_nolegend_")  # fmt: skip
            axes.plot(x, totals[key], look.marker, mfc=look.face, mec=look.colour, ms=3.5, clip_on=False,
                      transform=axes.get_yaxis_transform(), label="_nolegend_")  # fmt: skip
    has_published = published is not None and bool(published.notna().any())
    for lm in result.lms if has_published else []:  # those without a slope at the left edge
        x = slopes.get(lm.lm)
        transform = axes.transData if x else axes.get_yaxis_transform()
        style.published(
            axes, x or 0.02, published[lm.lm], f"published {lm.lm}", transform=transform
        )
    ticks = sorted({slopes[lm.lm] for chain in chains for lm in chain})
    axes.set_xticks(ticks, [name(tick) for tick in ticks])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(style.tick)
    axes.grid(axis="y")
    axes.margins(x=0.09, y=0.12)
    axes.set_ylabel(f"ΔLogLik (nats),\n{result.summed_over}")
    axes.set_xlabel("Slope of every attention head, per token of distance (log scale)")
    handles, _ = axes.get_legend_handles_labels()
    handles += [style.published_handle()] * has_published
    figure.legend(
        handles=handles,
        loc="outside upper left",
        ncols=3,
        columnspacing=1.4,
        borderpad=0.2,
        handlelength=3,
    )
    unbiased = next((lm.label for lm in across if lm.applied == "none"), None)
    style.notes(figure, [result.note(explained(bounds, unbiased)), *sentences(result)])
    decimals = 0 if totals.abs().max() >= 1000 else 1
    for slope in ticks:  # the upper value is above its point, the others below
        points = [lm.lm for chain in chains for lm in chain if slopes[lm.lm] == slope]
        upper = max(points, key=lambda key: totals[key])
        for key in points:
            side = 1 if key == upper else -1
            axes.annotate(
                style.number(totals[key], decimals), (slope, totals[key]), xytext=(5, 5 * side),
                textcoords="offset points", ha="left", va="bottom" if side > 0 else "top",
                size=style.SMALL, color=style.shade(looks[key].colour), zorder=5, gid=f"value {key}",
                path_effects=[withStroke(linewidth=2, foreground="white")],
            )  # fmt: skip
    return figure


def main(view: View, delta_loglik: File, intervals: File, out: Files) -> None:
    """Draw total ΔLogLik by slope to `out` (.pdf, .svg, .png, .csv)."""
    result = comparison.read(view, delta_loglik)
    bounds = interval_files.read(intervals, result)
    slopes = {lm.lm: s for lm in result.lms if (s := encoding.slope(lm.bias)) is not None}
    shown = result.lms if len(result.totals) else []
    paper = papers.totals(view.published, result)
    data = interval_files.of_totals(bounds, result, shown, slope=slopes).join(paper, on="lm")
    any_slope = any(lm.lm in slopes for lm in shown)
    drawing = (
        (draw, result, bounds, slopes, paper.published)
        if any_slope
        else (style.nothing_run, result.missing)
    )
    style.write(out, data, *drawing)
