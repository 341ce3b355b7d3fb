"""ΔLogLik of an experiment's LMs: totals (Clark et al. 2025, Figures 2 to 4), and by response."""

import math
import os
import re
import textwrap
from collections.abc import Iterable, Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.patheffects import Normal, Stroke
from matplotlib.ticker import MaxNLocator

from recency.evaluations.reading_times.verdict import Evidence
from recency.figures import comparison, hover, papers, style
from recency.figures import intervals as interval_files
from recency.figures.comparison import LM, Comparison, Response, View
from recency.figures.encoding import BASELINE
from recency.figures.intervals import (
    TOTAL,
    Intervals,
    against,
    columns,
    ends,
    explained,
    made_by,
    over_baseline,
    simultaneous,
)
from recency.figures.paths import File, Files

PRODUCTS = {
    "main": {
        "makes": {
            "total": ("figure_delta_loglik", "ΔLogLik of each LM"),
            "by_response": ("figure_delta_loglik_by_response", "ΔLogLik of each LM, by response"),
            "difference": ("figure_difference", "Differences of ΔLogLik from the baseline"),
        },
        "reads": [
            "delta_loglik",
            "intervals=delta_loglik_intervals",
            "by_seed=delta_loglik_by_seed",
            "not_run",
        ],
        "settings": ["lms", "responses", "baseline"],
        "published": "delta_loglik",
    }
}

DASHES = (0, (4, 2))
COLUMN = 3.3
"""Width of one of two columns of a page, inches."""


def rows_of(lms: Iterable[LM]) -> list[tuple[str, list[LM]]]:
    """Group LMs that differ only in when their bias applies: [("ALiBi-mix", [-I, -TI])], in order.

    A row is named by the shared beginning of its labels, up to a separator between words, or by all
    labels if they share nothing or another row has the same beginning.
    """
    groups = comparison.grouped(lms, lambda lm: (lm.bias, lm.network))
    names = [_common_beginning([lm.label for lm in group]) for group in groups]
    return [
        (name if name and names.count(name) == 1 else " / ".join(lm.label for lm in group), group)
        for name, group in zip(names, groups, strict=True)
    ]


def _common_beginning(labels: list[str]) -> str:
    """Return the shared beginning of labels, or the whole label of a single one."""
    if len(labels) == 1:
        return labels[0]
    start = os.path.commonprefix(labels)
    if any(re.match(r"\w", label[len(start) :]) for label in labels):  # within a word
        start = re.sub(r"\w+$", "", start)
    return re.sub(r"\W+$", "", start)


def key(
    figure: Figure,
    lms: list[LM],
    kind: str,
    lines: list[tuple[str, str]],
    has_published: bool = False,
) -> None:
    """Draw the legend: meaning of fill, each dashed line, published values (rows name the biases)."""
    grey, handles = "#808080", []
    words = {"inference": "inference-only bias", "training": "bias in training and inference"}
    for applied, text in words.items():
        if not any(lm.applied == applied for lm in lms):
            continue
        hollow = applied == "inference"
        if kind == "bars":
            face = style.tint(grey) if hollow else grey
            handles.append(Patch(facecolor=face, edgecolor=grey, label=text))
        else:
            face = "white" if hollow else grey
            handles.append(style.handle(color=grey, marker="o", mfc=face, ls="", label=text))
    for text, colour in lines:
        handles.append(style.handle(color=colour, ls=DASHES, lw=1, label=text))
    handles += [style.published_handle()] * has_published
    if handles:
        figure.legend(
            handles=handles, loc="outside upper left", ncols=min(4, len(handles)),
            columnspacing=1.4, handletextpad=0.6, borderpad=0.2,
        )  # fmt: skip


def bars(
    result: Comparison,
    bounds: Intervals,
    baseline: str | None,
    lost: str | None = None,
    seeds: pd.DataFrame | None = None,
    published: pd.Series | None = None,
) -> Figure:
    """Draw total ΔLogLik as one bar per LM, and next to it the difference from the baseline.

    Both have 95 % intervals; `lost` is the label of a baseline that was not run. `seeds` are
    ΔLogLik of each seed, as returned by intervals.by_seed, drawn as small marks. `published` are values by
    LM and response, NaN where there is none.
    """
    has_published = published is not None and bool(published.notna().any())
    totals, looks = result.totals, style.looks(result.lms)
    baseline_lm = comparison.find(result.lms, baseline)
    compared = baseline_lm is not None and len(result.lms) > 1
    rows, y = {}, 0.0
    for _, group in rows_of(result.lms):
        for lm in group:
            rows[lm.lm] = y
            y += 1
        y += 0.35  # a gap between biases
    figure = style.figure(1.15 + 0.19 * y)
    grid = figure.subplots(1, 2 if compared else 1, sharey=True, squeeze=False)[0]
    axes = grid[0]
    for lm in result.lms:
        look = looks[lm.lm]
        axes.barh(
            rows[lm.lm], totals[lm.lm], height=0.8, color=look.bar, edgecolor=look.colour, lw=1
        )
        if total := bounds.own.get((lm.lm, TOTAL)):
            interval_line(axes, *total.bounds, rows[lm.lm], "black", f"interval {lm.lm}")
        if seeds is not None and lm.lm in seeds.index:
            _marks(axes, seeds.loc[lm.lm, TOTAL], rows[lm.lm], looks[lm.lm].colour, lm.lm)
        if has_published:
            style.published(axes, published[lm.lm, TOTAL], rows[lm.lm], f"published {lm.lm}")
    axes.axvline(0, color=style.GREY, lw=0.7)
    axes.set_xlabel("ΔLogLik (nats)")
    axes.margins(x=0.02)
    if compared:
        _differences(grid[1], result, bounds, rows, looks)
        label = baseline_lm.label
        sides = style.favours(label, "\n")
        grid[1].set_xlabel(f"\N{MINUS SIGN} {label} (nats)\n{sides}")
        for lm in result.lms if seeds is not None else []:
            differences = over_baseline(seeds, lm.lm, baseline, TOTAL) if lm.lm != baseline else []
            _marks(grid[1], differences, rows[lm.lm], looks[lm.lm].colour, lm.lm)
    groups = letters(result, bounds) if compared else {}
    _values(grid[-1], result, bounds, rows, compared, groups)
    labels = {lm.lm: lm.label for lm in result.lms}
    axes.set_yticks(list(rows.values()), [labels[lm] for lm in rows])  # grouping changes the order
    axes.set_ylim(y - 0.75, -0.6)
    for panel in grid:
        panel.tick_params(axis="y", length=0)
        panel.spines["left"].set_visible(False)
        panel.grid(axis="x")
        widest = max(abs(end) for end in panel.get_xlim())
        panel.locator_params(axis="x", nbins=4 if widest >= 1000 else 5)
        panel.xaxis.set_major_formatter(style.tick)
    dashed = [(f"baseline: {baseline_lm.label}", BASELINE)] if compared else []
    key(figure, result.lms, "bars", dashed, has_published)
    size = result.observations[result.summed].sum()
    together = simultaneous(bounds) if compared else ""
    how = f"lines: 95 % intervals, {together and f'of differences {together}'}{made_by(bounds)}"
    if together:
        how += "; thick lines decide, ticks on them end the interval of a single difference"
    if groups:
        how += "; LMs that share a letter are not separated"
    if seeds is not None and len(seeds):
        how += f"; LMs are means of {result.seeds} seeds, small marks are seeds"
    explanation = f"{result.summed_over} ({size:,} observations); {result.note(how)}"
    style.notes(figure, [explanation, *sentences(result, lost)])
    return figure


def letters(result: Comparison, bounds: Intervals) -> dict[str, str]:
    """Return LM → letters of its groups, where all pairs of three LMs or more have intervals."""
    evidence = Evidence(result, bounds)
    if len(evidence.order) < 3 or any(bounds.pair(*pair) is None for pair in evidence.pairs):
        return {}
    return evidence.letters


def _marks(axes: Axes, values: Iterable[float], y: float, colour: str, lm: str) -> None:
    """Draw the seeds of an LM as small marks beneath the middle of its row."""
    for number, value in enumerate(values):
        axes.plot(value, y + 0.27, "o", ms=2.4, mfc=style.tint(colour, 0.4), mec="white", mew=0.4,
                  zorder=4.5, gid=f"seed {number} {lm}")  # fmt: skip


def interval_line(
    axes: Axes, low: float, high: float, y: float, colour: str, gid: str, width: float = 0.9
) -> None:
    """Draw an interval as a horizontal line with ends, or nothing if it is missing."""
    if not math.isnan(low):
        edge = [Stroke(linewidth=width + 1.3, foreground="white"), Normal()]  # visible on dark bars
        line = {"color": colour, "lw": width, "zorder": 4, "path_effects": edge, "gid": gid}
        axes.plot([low, high], [y, y], **line)
        axes.plot([low, high], [y, y], "|", color=colour, ms=4, zorder=4)


def _differences(
    axes: Axes,
    result: Comparison,
    bounds: Intervals,
    rows: Mapping[str, float],
    looks: Mapping[str, style.Look],
) -> None:
    """Draw each LM's difference from the baseline, the dashed line at zero.

    The interval that decides is a line; where it is simultaneous, ticks mark the single one.
    """
    axes.axvline(0, color=BASELINE, ls=DASHES, lw=1, zorder=1)
    for lm in result.lms:
        if interval := bounds.paired.get((lm.lm, TOTAL)):
            look, y = looks[lm.lm], rows[lm.lm]
            single = interval.low, interval.high
            width = 0.9 if interval.bounds == single else 1.7
            interval_line(axes, *interval.bounds, y, look.colour, f"paired {lm.lm}", width)
            if interval.bounds != single:
                axes.plot(single, [y, y], "|", color=look.colour, ms=6, mew=0.7, zorder=4,
                          gid=f"single {lm.lm}")  # fmt: skip
            axes.plot(interval.value, y, look.marker, mfc=look.face, mec=look.colour, ms=4.6,
                      gid=f"difference {lm.lm}", zorder=5)  # fmt: skip
    axes.margins(x=0.06)


def _values(
    axes: Axes,
    result: Comparison,
    bounds: Intervals,
    rows: Mapping[str, float],
    compared: bool,
    groups: Mapping[str, str],
) -> None:
    """Write the values and letters of groups in columns at the right, outside the plot.

    A difference is bold if its interval excludes zero.
    """
    decimals = 0 if result.totals.abs().max() >= 1000 else 1
    intervals = [
        bounds.paired.get((lm, TOTAL)) if compared else bounds.own.get((lm, TOTAL)) for lm in rows
    ]
    longest = max((len(ends(interval)) for interval in intervals if interval), default=0)
    wide = 62 + 4 * max(0, longest - len("\N{MINUS SIGN}130 to \N{MINUS SIGN}52"))
    heads = [(42, "ΔLogLik")]
    heads += [(90, "\N{MINUS SIGN} baseline"), (90 + wide, "95 %")] if compared else []
    heads += [(42 + wide, "95 %")] if not compared else []
    after = 90 + wide + 10 + 5 * max(map(len, groups.values()), default=0)
    for points, text in heads:
        style.write_right(axes, points, -0.95, text, color=style.GREY)
    for lm in result.lms:
        if groups:
            style.write_right(axes, after, rows[lm.lm], groups[lm.lm])
        style.write_right(axes, 42, rows[lm.lm], style.number(result.totals[lm.lm], decimals))
        if not compared:
            style.write_right(axes, 42 + wide, rows[lm.lm], ends(bounds.own.get((lm.lm, TOTAL))))
        elif pair := bounds.paired.get((lm.lm, TOTAL)):
            weight = "bold" if pair.excludes_zero else "normal"
            style.write_right(
                axes, 90, rows[lm.lm], style.signed(pair.value, decimals), weight=weight
            )
            style.write_right(axes, 90 + wide, rows[lm.lm], ends(pair), weight=weight)


def of_totals(bounds: Intervals) -> pd.DataFrame:
    """Return the differences of totals from the baseline.

    By LM: difference, low and high (the interval that decides), single_low and single_high, nats.
    """
    rows = {
        lm: [interval.value, *interval.bounds, interval.low, interval.high]
        for (lm, response), interval in bounds.paired.items()
        if response == TOTAL
    }
    names = ["difference", "low", "high", "single_low", "single_high"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=names).rename_axis("lm")


def differences(
    rows: pd.DataFrame,
    lms: list[LM],
    baseline: str,
    note: str,
    looks: Mapping[str, style.Look],
    width: float = COLUMN,
) -> Figure:
    """Draw the difference of each LM's ΔLogLik from that of the baseline, for one column of a page.

    `rows` are as returned by `of_totals`; single intervals may be absent. `width` is in inches.
    """
    figure = style.figure(0.9 + 0.21 * len(lms), width=width)
    axes = figure.add_subplot()
    axes.axvline(0, color=style.GREY, lw=0.9)
    for y, lm in enumerate(lms):
        look, row = looks[lm.lm], rows.loc[lm.lm]
        line = {"color": look.colour, "zorder": 2}
        axes.plot([row.low, row.high], [y, y], lw=1.7, gid=f"interval {lm.lm}", **line)
        if "single_low" in row and (row.single_low, row.single_high) != (row.low, row.high):
            axes.plot([row.single_low, row.single_high], [y, y], "|", ms=6, mew=0.7, **line)
        axes.plot(row.difference, y, look.marker, mfc=look.face, mec=look.colour, ms=5, zorder=3)
    axes.set_yticks(range(len(lms)), [lm.label for lm in lms])
    axes.set_ylim(len(lms) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")
    axes.locator_params(axis="x", nbins=5)
    axes.xaxis.set_major_formatter(style.tick)
    axes.set_xlabel(f"ΔLogLik \N{MINUS SIGN} that of {baseline} (nats)\n{style.favours(baseline)}")
    style.notes(figure, [note])
    return figure


def panels(
    result: Comparison,
    bounds: Intervals,
    baseline: str | None,
    lost: str | None = None,
    published: pd.Series | None = None,
) -> Figure:
    """Draw ΔLogLik as dots: a panel per response with its own scale, a row per bias."""
    has_published = published is not None and bool(published.notna().any())
    looks, rows = style.looks(result.lms), rows_of(result.lms)
    baseline_lm = comparison.find(result.lms, baseline)
    count = len(result.responses)
    columns = min(count, 4 if count <= 8 else 5)
    deep = math.ceil(count / columns)
    figure = style.figure(0.7 + deep * (0.7 + 0.17 * len(rows)))
    grid = figure.subplots(deep, columns, sharey=True, squeeze=False).ravel()
    for axes, response in zip(grid, result.responses):
        values = result.delta[response.label]
        if baseline_lm and not math.isnan(values[baseline_lm.lm]):
            axes.axvline(values[baseline_lm.lm], color=BASELINE, ls=DASHES, lw=1, zorder=1)
        for row, (_, group) in enumerate(rows):
            # Two variants are slightly offset, so that equal values remain visible.
            apart = 0.44 / max(1, len(group) - 1)
            first = row - 0.22 * (len(group) > 1)
            heights = [first + apart * number for number in range(len(group))]
            pale = style.tint(looks[group[0].lm].colour, 0.5)
            axes.plot([values[lm.lm] for lm in group], heights, color=pale, lw=2, zorder=2)
            for lm, y in zip(group, heights):
                look = looks[lm.lm]
                low, high = against(bounds, result, lm.lm, response.label)
                interval_line(axes, low, high, y, look.colour, f"interval {lm.lm}")
                (dot,) = axes.plot(values[lm.lm], y, look.marker, mfc=look.face, mec=look.colour,
                                   ms=4.6, gid=f"dot {lm.lm}", zorder=5)  # fmt: skip
                hover.say(dot, f"{lm.label}: ΔLogLik {style.number(values[lm.lm])}")
                if has_published:
                    there = published[lm.lm, response.label]
                    style.published(axes, there, y, f"published {lm.lm}")
        axes.set_title(_title(response, result.observations[response.label], columns), size=8.5)
        axes.grid(axis="both")
        axes.xaxis.set_major_locator(MaxNLocator(12 // columns, min_n_ticks=2))
        axes.xaxis.set_major_formatter(style.tick)
        axes.margins(x=0.12)
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
    grid[0].set_yticks(range(len(rows)), [label for label, _ in rows])
    grid[0].set_ylim(len(rows) - 0.4, -0.6)
    for axes in grid[count:]:
        axes.remove()
    for axes in grid[max(0, count - columns) : count]:
        axes.set_xlabel("ΔLogLik (nats)")
    dashed = [(f"baseline: {baseline_lm.label}", BASELINE)] if baseline_lm else []
    key(figure, result.lms, "dots", dashed, has_published)
    how = explained(bounds, baseline_lm and baseline_lm.label, of_totals=False)
    style.notes(figure, [result.note(how), *sentences(result, lost, totals=False)])
    return figure


def _title(response: Response, n: int, columns: int) -> str:
    """Return a panel's title in lines: dataset, then measure and number of observations."""
    name = response.dataset_label
    measure = f"{response.measure}, " if name != response.label else ""
    lines = textwrap.wrap(name, 80 // columns) + [f"{measure}n = {n:,}"]
    return "\n".join(lines)


def sentences(result: Comparison, lost: str | None = None, totals: bool = True) -> list[str]:
    """Return notes on missing responses and non-converged fits."""
    lines = result.missing if totals else list(result.not_run)
    if lost:
        lines.append(f"the baseline, {lost}, was not run")
    labels = {lm.lm: lm.label for lm in result.lms}
    if result.unconverged:
        names = [
            f"{labels[lm.lm]} on {response}"
            for response in result.delta.columns
            for lm in result.lms
            if (lm.lm, response) in result.unconverged
        ]
        shown = ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
        lines.append(f"regression not converged: {shown}")
    return lines


def data(result: Comparison, bounds: Intervals, paper: pd.DataFrame) -> pd.DataFrame:
    """Return the figure's values, one row per LM and response, "Total" last.

    `paper` has the published values (papers.compared).
    """
    rows = []
    for lm in result.lms:
        first = {"lm": lm.lm, "label": lm.label, "bias": lm.kind, "applied": lm.applied}
        values = result.delta.loc[lm.lm].to_dict()
        sizes = result.observations.to_dict()
        if len(result.totals):
            values[TOTAL] = result.totals[lm.lm]
            sizes[TOTAL] = result.observations[result.summed].sum()
        for label, value in values.items():
            numbers = {"response": label, "delta_loglik": value, "n_exploratory": sizes[label]}
            there = paper.loc[(lm.lm, label), ["published", "difference"]].to_dict()
            rows.append(first | numbers | columns(bounds, lm.lm, label) | there)
    names = ["lm", "label", "bias", "applied", "response", "delta_loglik", "n_exploratory"]
    return pd.DataFrame(rows, columns=[*names, *columns(bounds, "", ""), "published", "difference"])


def main(
    view: View,
    delta_loglik: File,
    intervals: File,
    total: Files,
    by_response: Files,
    difference: Files,
    by_seed: File | None = None,
) -> None:
    """Draw totals, panels and differences to the .pdf, .svg, .png of each, data to .csv.

    The baseline has the dashed line; published is an LM × response CSV.
    """
    result = comparison.read(view, delta_loglik)
    bounds = interval_files.read(intervals, result)
    there = comparison.find(result.lms, view.baseline)
    lost = None if there else view.labels.get(view.baseline)
    paper = papers.compared(papers.delta(view.published, result.lms), result)
    rows, seeds = data(result, bounds, paper), interval_files.by_seed(by_seed, result)
    given, is_total = (result, bounds, view.baseline, lost), rows.response == TOTAL
    style.write(total, rows[is_total], bars, *given, seeds, paper.published, empty=result.missing)
    leads = of_totals(bounds)
    named = there.label if there else ""
    together = simultaneous(bounds)
    ticks = "; ticks: ends of the interval of a single difference" if together else ""
    note = result.note(f"95 % intervals, {together}{made_by(bounds)}{ticks}")
    shown = [lm for lm in result.lms if lm.lm in leads.index]
    style.write(
        difference,
        leads.reset_index(),
        differences,
        leads,
        shown,
        named,
        note,
        style.looks(result.lms),  # as in the other figures
        empty=result.missing,
    )
    style.write(by_response, rows[~is_total], panels, *given, paper.published, empty=result.missing)
