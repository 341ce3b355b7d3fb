"""Figures and tables of learning curves, and of LMs at the same perplexity on them."""

import math
import textwrap
from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator

from recency.evaluations.curves.points import COLUMNS, MATCHED_COLUMNS
from recency.evaluations.reading_times.intervals import ALL
from recency.figures import comparison, labels, style, tables
from recency.figures.comparison import LM, View
from recency.figures.intervals import TOTAL, nats
from recency.figures.paths import File, Files
from recency.figures.tables import Cell, Row, Table

#: quantity → its axis.
AXES = {
    "delta_loglik": "ΔLogLik (nats)",
    "perplexity": "perplexity per {unit}",
    "accuracy": "accuracy on minimal pairs (%)",
    "mean_distance": "mean attention distance (tokens)",
}


def read(view: View, path: File) -> tuple[pd.DataFrame, list[str]]:
    """Return the rows with `label` and `response`, and notes on missing results.

    `response` is "Total" for ΔLogLik over all responses. Other quantities have no response, and are
    over all datasets and layers.
    """
    rows = comparison.table(path, COLUMNS)
    for column in ("dataset", "measure", "design", "by"):
        rows[column] = rows[column].astype(object).fillna("")
    labels = view.response_labels | {(ALL, ALL): TOTAL}
    rows.insert(1, "label", rows.lm.map(view.labels))
    rows["response"] = [labels.get(key, "") for key in zip(rows.dataset, rows.measure)]
    words = view.absent(set(rows.response))
    lost = rows[(rows.quantity == "delta_loglik") & rows.value.isna()].response.unique()
    words += [f"{label} has no fit at some step and is excluded from the sum" for label in lost]
    return rows, words


def of(rows: pd.DataFrame, quantity: str, response: str = "") -> pd.DataFrame:
    """Return the rows of a quantity for a response, or over all datasets and layers."""
    rows = rows[rows.quantity == quantity]
    if quantity == "delta_loglik":
        return rows[rows.response == response]
    whole = {"perplexity": rows.dataset, "mean_distance": rows.measure}.get(quantity)
    return rows if whole is None else rows[whole == ALL]


def responses_of(rows: pd.DataFrame) -> list[str]:
    """Return the labels of the responses with ΔLogLik, in order, without the total."""
    responses = rows[(rows.quantity == "delta_loglik") & (rows.response != TOTAL)].response
    return list(dict.fromkeys(responses))


def unit(rows: pd.DataFrame) -> str:
    """Return the unit of perplexity: token, or word where the LMs' tokenizers differ."""
    return next(iter(of(rows, "perplexity").measure), "token")


PRODUCTS = {
    "figure_curves": {
        "makes": {"out": ("figure_curves", "Learning curves")},
        "reads": ["curves", "not_run"],
        "settings": ["lms=plain_lms", "responses", "baseline=plain_baseline"],
    },
    "figure_curves_perplexity": {
        "makes": {
            "out": ("figure_curves_perplexity", "ΔLogLik against perplexity along a training")
        },
        "reads": ["curves", "not_run"],
        "settings": ["lms=plain_lms", "responses", "baseline=plain_baseline"],
        "when": "fitted",
    },
    "table_curves": {
        "makes": {"out": ("table_curves", "Table of the learning curves")},
        "reads": ["curves", "not_run"],
        "settings": ["lms=plain_lms", "responses", "baseline=plain_baseline", "title"],
        "summary": ("table_curves.csv", "{title}"),
    },
    "table_matched": {
        "makes": {"out": ("table_matched", "ΔLogLik at the same perplexity")},
        "reads": ["matched=curves_matched"],
        "settings": ["lms=plain_lms"],
        "when": "fitted",
    },
}


ACROSS = 4  # small panels per row
HEIGHT, LARGE = 1.4, 2.5  # inches of a row of small panels, and of the large ones


def draw(rows: pd.DataFrame, lms: list[LM], baseline: str, words: list[str]) -> Figure:
    """Draw total ΔLogLik and its difference from the baseline large, and all other panels below."""
    looks, responses = style.looks(lms, apart=True), responses_of(rows)
    large = bool(len(of(rows, "delta_loglik", TOTAL)))
    panels = (
        [("delta_loglik", label) for label in responses] if len(responses) > 1 or not large else []
    )
    panels += [(q, "") for q in AXES if q != "delta_loglik" and len(of(rows, q))]
    below = math.ceil(len(panels) / ACROSS)
    heights = [LARGE] * large + [HEIGHT * below] * bool(below)
    figure = style.figure(sum(heights) + 0.55)
    parts = list(figure.subfigures(len(heights), height_ratios=heights, squeeze=False)[:, 0])
    named = comparison.find(lms, baseline).label
    if large:
        left, right = parts.pop(0).subplots(1, 2)
        total = of(rows, "delta_loglik", TOTAL)
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
        part = of(rows, quantity, response)
        _lines(axes, part, lms, looks, "value", band=quantity != "delta_loglik")
        title = response or AXES[quantity].format(unit=unit(rows))
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
    style.notes(figure, [*_line_notes(rows, named), *words])
    return figure


def _line_notes(rows: pd.DataFrame, baseline: str) -> list[str]:
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


def figure_curves(view: View, curves: File, out: Files) -> None:
    """Draw curves.csv to `out` (.pdf, .svg, .png; .csv with all of its rows, labelled)."""
    rows, words = read(view, curves)
    style.write(out, rows, draw, rows, view.lms, view.baseline, words, empty=words)


BY_PERPLEXITY = [
    "lm",
    "label",
    "step",
    "tokens",
    "perplexity",
    "delta_loglik",
    "highest",
]


def data(rows: pd.DataFrame) -> pd.DataFrame:
    """Return each LM's points (BY_PERPLEXITY): perplexity over all words, and summed ΔLogLik.

    `highest` marks the step of an LM's highest ΔLogLik.
    """
    names = ["lm", "label", "step", "tokens"]
    fit = of(rows, "delta_loglik", TOTAL).rename(columns={"value": "delta_loglik"})
    text = of(rows, "perplexity").rename(columns={"value": "perplexity"})
    both = fit[[*names, "delta_loglik"]].merge(
        text[["lm", "step", "perplexity"]], on=["lm", "step"]
    )
    both["highest"] = both.groupby("lm").delta_loglik.transform("max") == both.delta_loglik
    return both[BY_PERPLEXITY]


def figure_perplexity_draw(
    points: pd.DataFrame,
    lms: list[LM],
    baseline: str,
    scope: str,
    words: list[str],
    unit: str = "token",
) -> Figure:
    """Draw one line per LM, its highest point ringed, with steps labelled on the baseline's line."""
    looks = style.looks(lms, apart=True)
    figure = style.figure(3.9)
    axes = figure.add_subplot()
    axes.set_xscale("log")
    for lm in lms:
        look, mine = looks[lm.lm], points[points.lm == lm.lm].sort_values("step")
        ls = ":" if lm.applied == "inference" else "-"
        axes.plot(mine.perplexity, mine.delta_loglik, look.marker, color=look.colour, mfc=look.face,
                  ms=4.5, ls=ls, lw=1.1, gid=f"line {lm.lm}")  # fmt: skip
        top = mine[mine.highest]
        axes.plot(top.perplexity, top.delta_loglik, "o", mfc="none", mec=look.colour, ms=10, mew=1,
                  gid=f"highest {lm.lm}")  # fmt: skip
    axes.margins(0.09)
    axes.invert_xaxis()  # training proceeds to the right
    round_ticks(axes.xaxis)
    axes.yaxis.set_major_formatter(style.tick)
    axes.grid(which="major")
    axes.set_ylabel(f"ΔLogLik (nats),\n{scope}")
    axes.set_xlabel(f"Perplexity per {unit} over the corpora (log scale, decreasing)")
    ring = style.handle(color=style.GREY, marker="o", mfc="none", ms=9, ls="", label="its highest")
    handles = [*key(lms), ring]
    figure.legend(handles=handles, loc="outside upper left", ncols=min(5, len(handles)))
    named = comparison.find(lms, baseline)
    style.notes(figure, [f"numbers: training steps of {named.label}", *words])
    places = {(row.lm, row.step): (row.perplexity, row.delta_loglik) for row in points.itertuples()}
    labels.write(
        axes,
        places,
        {point: f"{point[1]:,}" if point[0] == baseline else "" for point in places},
        {point: style.shade(looks[point[0]].colour) for point in places},
    )
    return figure


def figure_curves_perplexity(view: View, curves: File, out: Files) -> None:
    """Draw ΔLogLik against perplexity to `out` (.pdf, .svg, .png, .csv)."""
    rows, words = read(view, curves)
    points, named = data(rows), responses_of(rows)
    scope = named[0] if len(named) == 1 else f"summed over {len(named)} responses"
    given = (points, view.lms, view.baseline, scope, words, unit(rows))
    style.write(out, points, figure_perplexity_draw, *given, empty=words)


HEADS = {
    "delta_loglik": "ΔLogLik",
    "perplexity": "Perplexity",
    "accuracy": "Pairs (%)",
    "mean_distance": "Distance",
}


def layout(rows: pd.DataFrame, lms: list[LM], baseline: str, title: str, words: list[str]) -> Table:
    """Return a row per LM and step: summed ΔLogLik, its lead over the baseline, other measures."""
    quantities = [q for q in HEADS if len(of(rows, q, TOTAL))]
    named = comparison.find(lms, baseline).label
    heads = ["LM", "Step", "Tokens (M)"]
    for quantity in quantities:
        heads.append(HEADS[quantity])
        heads += [f"− {named}"] * (quantity in ("delta_loglik", "accuracy"))
    grid, rules = [], []
    for lm in lms:
        mine = rows[rows.lm == lm.lm]
        rules.append(len(grid))
        for step, at in mine.groupby("step"):
            first = lm.label if len(grid) == rules[-1] else ""
            line = [first, f"{step:,}", style.tick(round(at.tokens.iloc[0] / 1e6, 3))]
            for quantity in quantities:
                matching = of(at, quantity, TOTAL)
                line += _cells(matching.iloc[0] if len(matching) else None, quantity)
            grid.append(line)
    notes = []
    if "delta_loglik" in quantities:
        summed = len(responses_of(rows))
        notes.append(
            f"ΔLogLik: nats on the exploratory partition, summed over {summed} responses; − {named}: "
            "the difference from it at the same step, 95 % interval beneath, bold where it "
            "excludes zero"
        )
    if "mean_distance" in quantities:
        notes.append("distance: attention distance in tokens, mean over heads and layers")
    if (rows.seeds > 1).any():
        notes.append(f"means over {rows.seeds.max()} seeds; the intervals include new seeds")
    if not rows.converged.all():
        notes.append("†: a regression did not converge")
    return Table(title, heads, grid, notes + words, tuple(rules[1:]))


def _cells(row, quantity: str) -> Row:
    """Return the cells of a quantity at a point, and of its difference from the baseline."""
    compared = quantity in ("delta_loglik", "accuracy")
    if row is None:
        return [""] * (1 + compared)
    text = style.number(row.value) + ("" if row.converged else "†")
    cells = [Cell(text, (style.interval(row.low, row.high, nats),))]
    if compared and math.isnan(row.over_baseline):
        cells.append("")
    elif compared:
        low, high = row.low_over_baseline, row.high_over_baseline
        below = (style.interval(low, high, nats),)
        cells.append(Cell(style.signed(row.over_baseline), below, bold=low > 0 or high < 0))
    return cells


def summary(path: File) -> Table:
    """Return each LM's highest summed ΔLogLik and its change until the end of training."""
    rows = comparison.table(path, ["quantity", "label", "step", "response", "value", "over_last"])
    rows.response = rows.response.astype(object).fillna("")
    rows.dataset = rows.dataset.astype(object).fillna("")
    fit, text = of(rows, "delta_loglik", TOTAL), of(rows, "perplexity")
    heads = ["LM", "Highest at", "ΔLogLik", "Perplexity", "At the end", "Perplexity"]
    heads += ["Since", "95 %"]
    grid, sentences = [], []
    for label, mine in fit.groupby("label", sort=False):
        ppl = text[text.label == label].set_index("step").value
        top, last = mine.loc[mine.value.idxmax()], mine.loc[mine.step.idxmax()]
        line = [label]
        for row in (top, last):
            at = [_label_cell(row)] if row is top else []
            line += [*at, style.number(row.value), style.number(ppl[row.step])]
        if top.step == last.step:
            grid.append([*line, "\N{EN DASH}", "\N{EN DASH}"])
            sentences.append(f"{label} fits best at the end of its training")
            continue
        low, high = -top.high_over_last, -top.low_over_last
        sure = high < 0
        grid.append([*line, Cell(style.signed(-top.over_last), bold=bool(sure)), style.interval(low, high, nats)])  # fmt: skip
        fell = f"perplexity {nats(ppl[top.step])} → {nats(ppl[last.step])}"
        sentences.append(
            f"{label} fits best at step {top.step:,}; since then ({fell}) it "
            + ("fits less well" if sure else "is not known to fit less well")
        )
    about = (
        "ΔLogLik in nats, summed over the responses; since: the end minus the highest, bold where the "
        "interval, simultaneous over an LM's steps, excludes zero"
    )
    return Table("", heads, grid, [*sentences, about])


def _label_cell(row) -> str:
    """Return the step and tokens of a row, as its label."""
    return f"step {row.step:,}, {style.tick(round(row.tokens / 1e6, 2))} M tokens"


def table_curves(view: View, curves: File, out: Files) -> None:
    """Write the table to `out` (.html, .tex; .csv with every row of curves.csv, labelled)."""
    rows, words = read(view, curves)
    tables.write(out, layout(rows, view.lms, view.baseline, view.title, words), rows)


def table_matched_layout(rows, unit: str) -> Table:
    """Return a row per LM: the perplexity, the steps at which both have it, and ΔLogLik."""
    grid = []
    for row in rows.itertuples(index=False):
        known = math.isfinite(row.difference)
        below = (style.interval(row.low_all, row.high_all, nats),)
        sure = row.low_all > 0 or row.high_all < 0
        cells = ["\N{EN DASH}"] * 4
        if known:
            cells = [f"{step:,.0f}" for step in (row.step, row.step_against)]
            cells += [style.number(v) for v in (row.delta_loglik, row.delta_loglik_against)]
        difference = Cell(style.signed(row.difference), below if known else (), bold=bool(sure))
        first = [row.label, row.against_label, style.number(row.perplexity)]
        grid.append([*first, *cells, difference])
    heads = ["LM", "Baseline", f"Perplexity per {unit}", "Step", "Baseline's"]
    heads += ["ΔLogLik", "Baseline's", "Difference"]
    simultaneous = f", simultaneous for {len(rows)} LMs" if len(rows) > 1 else ""
    notes = [
        (
            "perplexity: the larger of both LMs' at the end of training; the other LM's ΔLogLik is interpolated where "
            "its curve had it"
        ),
        f"difference: nats, exploratory partition, 95 % interval beneath{simultaneous}, bold where it excludes zero",
        "\N{EN DASH}: the better LM's curve begins below that perplexity",
    ]
    return Table("At the same perplexity", heads, grid, notes, left=2)


def table_matched(view: View, matched: File, out: Files) -> None:
    """Write the table to `out` (.csv, .html, .tex)."""
    rows = comparison.table(matched, MATCHED_COLUMNS)
    rows.insert(1, "label", rows.lm.map(view.labels))
    rows["against_label"] = rows.against.map(view.labels)
    unit = next(iter(rows.unit), "token")
    tables.write(out, table_matched_layout(rows, unit), rows)
