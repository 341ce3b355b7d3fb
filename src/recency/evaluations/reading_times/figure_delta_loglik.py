"""ΔLogLik of an experiment's LMs: totals (Clark et al. 2025, Figures 2 to 4) and one panel a response."""

import math
import os
import re
import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from recency.figures import comparison, style
from recency.figures.comparison import LM, Comparison, Response
from recency.figures.encoding import BASELINE

PRODUCT = {
    "makes": {
        "total": ("figure_delta_loglik", "ΔLogLik of each LM"),
        "by_response": ("figure_delta_loglik_by_response", "ΔLogLik of each LM, by response"),
    },
    "reads": ["delta_loglik", "not_run"],
    "settings": ["lms", "responses", "baseline"],
}

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DASHES = (0, (4, 2))


def rows_of(lms: Iterable[LM]) -> list[tuple[str, list[LM]]]:
    """Group LMs that differ only in when their bias applies: [("ALiBi-mix", [-I, -TI])], in order.

    A row's name is what its labels begin with, up to a sign between words; where they share nothing,
    or another row shares it, it is all of them.
    """
    groups = comparison.grouped(lms, lambda lm: (lm.bias, lm.network))
    names = [_shared([lm.label for lm in group]) for group in groups]
    return [
        (name if name and names.count(name) == 1 else " / ".join(lm.label for lm in group), group)
        for name, group in zip(names, groups, strict=True)
    ]


def _shared(labels: list[str]) -> str:
    """Return what labels begin with; the whole of a single one."""
    if len(labels) == 1:
        return labels[0]
    start = os.path.commonprefix(labels)
    if any(re.match(r"\w", label[len(start) :]) for label in labels):  # within a word
        start = re.sub(r"\w+$", "", start)
    return re.sub(r"\W+$", "", start)


def key(figure: "Figure", lms: list[LM], kind: str, lines: list[tuple[str, str]]) -> None:
    """Draw the legend: what fill means, and each dashed line (biases are in the row labels)."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    grey, handles = "#808080", []
    words = {"inference": "bias at inference only", "training": "bias in training and inference"}
    for applied, text in words.items():
        if not any(lm.applied == applied for lm in lms):
            continue
        hollow = applied == "inference"
        if kind == "bars":
            face = style.tint(grey) if hollow else grey
            handles.append(Patch(facecolor=face, edgecolor=grey, label=text))
        else:
            face = "white" if hollow else grey
            handles.append(Line2D([], [], color=grey, marker="o", mfc=face, ls="", label=text))
    for text, colour in lines:
        handles.append(Line2D([], [], color=colour, ls=DASHES, lw=1, label=text))
    if handles:
        figure.legend(
            handles=handles, loc="outside upper left", ncols=min(4, len(handles)),
            columnspacing=1.4, handletextpad=0.6, borderpad=0.2,
        )  # fmt: skip


def bars(result: Comparison, baseline: str | None, references: Iterable[str] = ()) -> "Figure":
    """Draw total ΔLogLik as one bar an LM, with the value and its difference from the baseline."""
    from matplotlib.figure import Figure
    from matplotlib.transforms import blended_transform_factory

    totals, looks = result.totals, style.looks(result.lms)
    baseline_lm = next((lm for lm in result.lms if lm.lm == baseline), None)
    rows, y = {}, 0.0
    for _, group in rows_of(result.lms):
        for lm in group:
            rows[lm.lm] = y
            y += 1
        y += 0.35  # a gap between biases
    figure = Figure(figsize=(style.WIDTH, 1.15 + 0.19 * y), layout="constrained")
    axes = figure.add_subplot()
    for lm in result.lms:
        look = looks[lm.lm]
        axes.barh(
            rows[lm.lm], totals[lm.lm], height=0.8, color=look.bar, edgecolor=look.colour, lw=1
        )
    if baseline_lm:
        axes.axvline(totals[baseline_lm.lm], color=BASELINE, ls=DASHES, lw=1, zorder=3)
    dashed = [(f"baseline: {baseline_lm.label}", BASELINE)] if baseline_lm else []
    for lm in result.lms:
        if lm.lm in references:
            name = lm.lm
            dashed.append((lm.label, looks[name].colour))
            axes.axvline(totals[name], color=looks[name].colour, ls=DASHES, lw=1, zorder=3)
    axes.axvline(0, color=style.GREY, lw=0.7)

    # Values stand in columns of their own at the right, where no bar or dashed line crosses them.
    decimals = 0 if totals.abs().max() >= 1000 else 1
    column = blended_transform_factory(axes.transAxes, axes.transData)
    heads = [(44, "ΔLogLik")] + ([(100, "− baseline")] if baseline_lm else [])

    def write(points: float, y: float, text: str, **look) -> None:
        """Write to the right of the axes, `points` from their edge to the end of the text."""
        axes.annotate(text, (1, y), xycoords=column, xytext=(points, 0), ha="right",
                      textcoords="offset points", va="center_baseline", size=style.SMALL, **look)  # fmt: skip

    for lm in result.lms:
        weight = "bold" if totals[lm.lm] == totals.max() else "normal"
        texts = [style.number(totals[lm.lm], decimals)]
        if baseline_lm and lm is not baseline_lm:
            texts.append(style.signed(totals[lm.lm] - totals[baseline_lm.lm], decimals))
        for (points, _), text in zip(heads, texts):
            write(points, rows[lm.lm], text, weight=weight)
    for points, text in heads:
        write(points, -0.95, text, color=style.GREY)

    axes.set_yticks(list(rows.values()), [lm.label for lm in result.lms])
    axes.set_ylim(y - 0.75, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")
    axes.margins(x=0.02)
    many = len(result.summed)
    over = result.summed[0] if many == 1 else f"summed over {many} responses"
    size = result.observations[result.summed].sum()
    axes.set_xlabel(f"ΔLogLik (nats), {over} ({size:,} observations)")
    axes.xaxis.set_major_formatter(lambda value, _: style.tick(value))
    key(figure, result.lms, "bars", dashed)
    style.notes(figure, sentences(result, baseline_lm is None and baseline))
    return figure


def panels(result: Comparison, baseline: str | None) -> "Figure":
    """Draw ΔLogLik as dots, one panel a response, one row a bias, each panel on its own scale."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    looks, rows = style.looks(result.lms), rows_of(result.lms)
    baseline_lm = next((lm for lm in result.lms if lm.lm == baseline), None)
    count = len(result.responses)
    columns = min(count, 4 if count <= 8 else 5)
    deep = math.ceil(count / columns)
    figure = Figure(
        figsize=(style.WIDTH, 0.7 + deep * (0.7 + 0.155 * len(rows))), layout="constrained"
    )
    grid = figure.subplots(deep, columns, sharey=True, squeeze=False).ravel()
    for axes, response in zip(grid, result.responses):
        values = result.delta[response.label]
        if baseline_lm and not math.isnan(values[baseline_lm.lm]):
            axes.axvline(values[baseline_lm.lm], color=BASELINE, ls=DASHES, lw=1, zorder=1)
        for row, (_, group) in enumerate(rows):
            # Two variants stand a little apart in height, so that equal values stay two dots.
            heights = (
                [row]
                if len(group) == 1
                else [row - 0.2 + 0.4 * i / (len(group) - 1) for i in range(len(group))]
            )
            colour = looks[group[0].lm].colour
            axes.plot([values[lm.lm] for lm in group], heights, color=colour, lw=1, zorder=2)
            for lm, y in zip(group, heights):
                look = looks[lm.lm]
                axes.plot(values[lm.lm], y, look.marker, mfc=look.face, mec=look.colour, ms=4.6,
                          gid=f"dot {lm.lm}", zorder=3)  # fmt: skip
        axes.set_title(_title(response, result.observations[response.label], columns), size=8.5)
        axes.grid(axis="both")
        axes.xaxis.set_major_locator(MaxNLocator(12 // columns, min_n_ticks=2))
        axes.xaxis.set_major_formatter(lambda value, _: style.tick(value))
        axes.margins(x=0.12)
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
    grid[0].set_yticks(range(len(rows)), [label for label, _ in rows])
    grid[0].set_ylim(len(rows) - 0.4, -0.6)
    for axes in grid[count:]:
        axes.remove()
    for axes in grid[max(0, count - columns) : count]:
        axes.set_xlabel("ΔLogLik (nats)")
    key(
        figure,
        result.lms,
        "dots",
        [(f"baseline: {baseline_lm.label}", BASELINE)] if baseline_lm else [],
    )
    style.notes(figure, sentences(result, baseline_lm is None and baseline, totals=False))
    return figure


def _title(response: Response, n: int, columns: int) -> str:
    """Title a panel in lines that fit it: dataset, then measure and number of observations."""
    name = response.dataset_label
    measure = f"{response.measure}, " if name != response.label else ""
    lines = textwrap.wrap(name, 80 // columns) + [f"{measure}n = {n:,}"]
    return "\n".join(lines)


def sentences(result: Comparison, lost: str | None | bool = None, totals: bool = True) -> list[str]:
    """Say what is missing or not converged: the lines under a figure."""
    found = result.missing if totals else list(result.not_run)
    if lost:
        found.append(f"the baseline {lost} was not run: no dashed line")
    labels = {lm.lm: lm.label for lm in result.lms}
    if result.unconverged:
        names = [
            f"{labels[lm.lm]} on {response}"
            for response in result.delta.columns
            for lm in result.lms
            if (lm.lm, response) in result.unconverged
        ]
        shown = ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
        found.append(f"regression not converged: {shown}")
    return found


def data(result: Comparison) -> pd.DataFrame:
    """Give the figure's numbers, one row an LM and response, "Total" last."""
    rows = []
    for lm in result.lms:
        for label in result.delta.columns:
            value, n = result.delta.loc[lm.lm, label], result.observations[label]
            rows.append((lm.lm, lm.label, lm.kind, lm.applied, label, value, n))
        if len(result.totals):
            n = result.observations[result.summed].sum()
            rows.append((*rows[-1][:4], "Total", result.totals[lm.lm], n))
    columns = ["lm", "label", "bias", "applied", "response", "delta_loglik", "n_exploratory"]
    return pd.DataFrame(rows, columns=columns)


def main(
    *,
    delta_loglik: str | Path,
    total: Iterable[str | Path],
    by_response: Iterable[str | Path],
    lms: Iterable[Mapping],
    responses: Iterable[Mapping],
    baseline: str | None = None,
    references: Iterable[str] = (),
    not_run: str | Path | None = None,
) -> None:
    """Draw totals and panels to the .pdf, .svg, .png of `total` and `by_response`, data to .csv.

    `baseline` is the lm of the dashed line, `references` further lms to draw a line for (Figure 4).
    """
    result = comparison.read(delta_loglik, lms=lms, responses=responses, not_run=not_run)
    rows = data(result)
    with style.use():
        drawn = [
            (bars(result, baseline, references), total, rows[rows.response == "Total"])
            if len(result.totals)
            else (style.empty(result.missing), total, rows[:0]),
            (panels(result, baseline), by_response, rows[rows.response != "Total"])
            if len(result.lms)
            else (style.empty(result.missing), by_response, rows[:0]),
        ]
        for figure, paths, numbers in drawn:
            style.save(figure, paths, numbers)
