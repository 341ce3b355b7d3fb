"""The figure and the table of candidate endpoints: power and size by setting, bias, coverage.

`endpoint` writes them.
"""

import math
from collections.abc import Sequence
from pathlib import Path

import checkout
import numpy as np
import pandas as pd

checkout.use()

from endpoint_candidates import PER
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from recency.endpoints import ENDPOINTS
from recency.figures import style, tables
from recency.figures.tables import Cell, Row, Table

DEFAULT = "default"
ALPHA = 0.05
INTERVALS = {
    "in_sample": ("given_fits", "two_way"),
    "held_out": ("given_fits", "two_way"),
    "crossed": ("two_way",),
}
"""Data → intervals to compute; the first is the workflow's own."""
DATA = {"crossed": "crossed", "in_sample": "in-sample", "held_out": "exploratory"}
LIKELIHOODS = {name: endpoint.short for name, endpoint in ENDPOINTS.items() if endpoint.short}
BASELINES = ("all", "fixed")
PRIMARY = ("all", "marginal", "crossed")
"""Baseline, likelihood and data of the primary endpoint."""
FACTORS = {
    "slope_sd": "slope sd",
    "word_sd": "word sd, ms",
    "subjects": "subjects",
    "sentences": "sentences",
    "responses": "responses",
    "seeds": "seeds",
}
NOTES = [
    (
        "crossed: the crossed bootstrap; in-sample: the fitted observations; exploratory: that partition, by "
        "the fit to another"
    ),
    "size: either of two equally close LMs is claimed to be better (nominal 5 %)",
    "power: the closer one of two LMs is claimed to be better",
]


def order(candidates: Sequence[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """Sort candidates (baseline, likelihood, data) by baseline, data and likelihood."""
    listed = [
        (baseline, likelihood, data)
        for baseline in BASELINES
        for data in DATA
        for likelihood in LIKELIHOODS
    ]
    return [candidate for candidate in listed if candidate in set(candidates)]


INTERVAL_NAMES = {"two_way": "two-way", "given_fits": "given fits"}
TESTS = {
    "observation": "by observation",
    "subject": "by subject",
    "sentence": "by sentence",
    "larger": "larger of both",
}
HEADER = (
    *("Baseline", "Data", "Likelihood", "Interval", "Lead", "Lead / sd", "Bias", "Size", "Power"),
    *("Coverage, lead", "Coverage, ΔLogLik", "Largest size", "Power, range"),
)


def layout(rows: pd.DataFrame, tests: pd.DataFrame) -> Table:
    """Return the candidates at the default setting, the range over settings, and the tests."""
    grid, rules, before = [], [], None
    for candidate in order(list(zip(rows.baseline, rows.likelihood, rows.data, strict=True))):
        baseline, likelihood, data = candidate
        of_candidate = rows[
            (rows.baseline == baseline) & (rows.likelihood == likelihood) & (rows.data == data)
        ]
        for interval, of_interval in of_candidate.groupby("interval", sort=False):
            if before not in (None, (baseline, data)):
                rules.append(len(grid))
            before = baseline, data
            bold = candidate == PRIMARY
            about = (
                baseline,
                DATA[data],
                LIKELIHOODS[likelihood],
                INTERVAL_NAMES[interval],
            )
            grid.append([Cell(text, left=True, bold=bold) for text in about] + _row(of_interval))
    rules.append(len(grid))
    for test, of_test in tests.groupby("test", sort=False):
        about = ("", "held-out", "squared errors", f"permutation, {TESTS[test]}")
        grid.append(list(about) + _row(of_test))
    first = rows[rows.setting == DEFAULT].iloc[0]
    notes = [
        (
            f"at the default setting ({first.subjects:.0f} subjects, {first.sentences:.0f} "
            f"sentences, slope sd {first.slope_sd:g} of the mean, word sd {first.word_sd:g} ms); the last two "
            "columns are ranges over all settings, which are in the CSV"
        ),
        (
            "lead: ΔLogLik of LM a minus that of LM b, nats; lead / sd: its mean over its standard "
            "deviation between studies"
        ),
        (
            f"bias of the lead, nats per {PER:,} observations, with its standard error in "
            "parentheses, relative to marginal ΔLogLik of unseen subjects and sentences"
        ),
        (
            "coverage: share of 95 % intervals that cover the candidate's mean, for the lead and for "
            "LM a's ΔLogLik"
        ),
        *NOTES,
    ]
    title = "Bias, size, power and coverage of candidate endpoints"
    return Table(title, HEADER, grid, notes, tuple(rules), left=4)


def _row(rows: pd.DataFrame) -> Row:
    """Return the results of a candidate or a test."""
    default = rows[rows.setting == DEFAULT].iloc[0]
    figures = [""] * 3
    if "lead" in rows:
        bias = f"{style.signed(default.lead_bias, 2)} ({style.number(default.lead_bias_se, 2)})"
        figures = [style.number(default.lead), style.number(default.separation, 2), bias]
    figures += [_percent(default["size"]), _percent(default.power)]
    figures += [
        _percent(default.get(f"coverage_{name}", math.nan)) for name in ("lead", "delta_loglik_a")
    ]
    figures += [_percent(rows["size"].max())]
    figures.append(f"{100 * rows.power.min():.0f} to {_percent(rows.power.max())}")
    return list(figures)


def _percent(share: float) -> str:
    return "" if math.isnan(share) else f"{100 * share:.0f} %"


POWER, SIZE = "#0072B2", "#D55E00"
ROW = 0.165
"""Height of a row in inches."""


def shown(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with the interval by which a candidate is judged."""
    return rows[[INTERVALS[row.data][0] == row.interval for row in rows.itertuples()]]


def draw(rows: pd.DataFrame) -> Figure:
    """Draw a row for each candidate, and a panel for each factor that varies.

    Parameters
    ----------
    rows
        Columns of endpoint.COLUMNS, one interval by candidate.
    """
    candidates = order(list(zip(rows.baseline, rows.likelihood, rows.data, strict=True)))
    factors = [name for name in FACTORS if rows.setting.str.startswith(f"{name}=").any()]
    factors = factors or ["subjects"]
    figure = style.figure(ROW * (len(candidates) + 3) + 0.9)
    panels = figure.subplots(1, len(factors), sharey=True, squeeze=False)[0]
    heights = _heights(candidates)
    for axes, factor in zip(panels, factors, strict=True):
        values = _draw_factor(axes, rows, candidates, heights, factor)
        listed = ", ".join(style.tick(value) for value in values)
        axes.set_title(f"{FACTORS[factor]}\n{listed}", fontsize=style.SMALL)
        axes.set_xlim(-0.04, 1.04)
        axes.set_xticks([0, 0.5, 1], ["0", "50", "100 %"])
        axes.axvline(ALPHA, color=style.GREY, lw=0.7, ls=(0, (4, 2)), zorder=0)
        axes.grid(axis="y")
        axes.tick_params(axis="y", length=0)
    first = panels[0]
    labels = [f"{DATA[data]}, {LIKELIHOODS[likelihood]}" for _, likelihood, data in candidates]
    first.set_yticks(heights, labels)
    for label, candidate in zip(first.get_yticklabels(), candidates, strict=True):
        label.set_fontweight("bold" if candidate == PRIMARY else "normal")
    for baseline in BASELINES:
        tops = [
            h for h, candidate in zip(heights, candidates, strict=True) if candidate[0] == baseline
        ]
        if tops:
            first.text(
                -0.06, min(tops) - 0.9, f"baseline {baseline}", style="italic", ha="right",
                va="center", transform=first.get_yaxis_transform(), fontsize=style.SMALL,
            )  # fmt: skip
    first.set_ylim(max(heights) + 0.7, -1.6)
    _legend(figure)
    repeats = sorted(set(rows.repeats))
    many = f"{repeats[0]} to {repeats[-1]}" if len(repeats) > 1 else f"{repeats[0]}"
    notes = [
        "marks from light to dark: the values above a panel, from small to large",
        f"other factors at their defaults; {many} studies per mark; dashed: {100 * ALPHA:g} %",
    ]
    style.notes(figure, notes)
    return figure


def _heights(candidates: list[tuple[str, str, str]]) -> np.ndarray:
    """Return the height of each row, from the top, with a gap before each baseline."""
    gaps = np.cumsum([i > 0 and c[0] != candidates[i - 1][0] for i, c in enumerate(candidates)])
    return np.arange(len(candidates)) + 1.5 * gaps


def _draw_factor(
    axes: Axes,
    rows: pd.DataFrame,
    candidates: list[tuple[str, str, str]],
    heights: np.ndarray,
    factor: str,
) -> list[float]:
    """Draw power and size at each value of a factor, and return the values."""
    varied = rows[(rows.setting == DEFAULT) | rows.setting.str.startswith(f"{factor}=")]
    values = sorted(set(varied[factor]))
    for index, value in enumerate(values):
        share = 0.35 + 0.65 * (index + 1) / len(values)
        at = varied[varied[factor] == value].set_index(["baseline", "likelihood", "data"])
        for height, candidate in zip(heights, candidates, strict=True):
            if candidate not in at.index:
                continue
            row = at.loc[candidate]
            axes.plot(row.power, height, "o", color=style.tint(POWER, share), ms=4.5, mew=0)
            axes.plot(row["size"], height, "|", color=style.tint(SIZE, share), ms=6, mew=1.3)
    return values


def _legend(figure: Figure) -> None:
    handles = [
        style.handle(marker="o", color=POWER, ls="", ms=4.5, label="power (LM a is closer)"),
        style.handle(marker="|", color=SIZE, ls="", ms=6, mew=1.3, label="size (equally close)"),
    ]
    figure.legend(handles=handles, loc="outside upper right", ncols=2)


def write(rows: pd.DataFrame, tests: pd.DataFrame, folder: Path) -> None:
    """Write figure_endpoint (.pdf, .svg, .png, .csv) and table_endpoint (.csv, .html, .tex)."""
    figures = [folder / f"figure_endpoint.{end}" for end in ("pdf", "svg", "png", "csv")]
    drawn = shown(rows)
    style.write(figures, drawn, draw, drawn)
    pages = [folder / f"table_endpoint.{end}" for end in ("csv", "html", "tex")]
    tables.write(pages, layout(rows, tests), rows)
