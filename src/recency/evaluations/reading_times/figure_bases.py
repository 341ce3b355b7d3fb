"""ΔLogLik over two bases side by side: a figure of the totals, a table of every response.

Over the paper's base (`fixed`) ΔLogLik is what the fixed effects of surprisal add to its by-subject
slopes; over the base that all LMs share (`all`) it is what surprisal adds altogether, and differences
between LMs are differences between their full regressions. No difference is taken across the two.
"""

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from recency.evaluations.reading_times.figure_delta_loglik import DASHES, interval_line, key
from recency.figures import bases, comparison, style, tables
from recency.figures import intervals as interval_files
from recency.figures.comparison import Comparison
from recency.figures.encoding import BASELINE
from recency.figures.intervals import TOTAL, Intervals, against, columns, ends, explained
from recency.figures.tables import Cell, Table

PRODUCT = {
    "makes": {
        "figure": ("figure_bases", "ΔLogLik over two bases"),
        "table": ("table_bases", "Table of ΔLogLik over two bases"),
    },
    "reads": [
        "delta_loglik",
        "intervals=delta_loglik_intervals",
        "beside=delta_loglik_beside",
        "beside_intervals=delta_loglik_beside_intervals",
        "not_run",
    ],
    "settings": ["lms", "responses", "baseline"],
    "when": "bases",
}

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Over = tuple[Comparison, Intervals]
"""ΔLogLik over one base, and its intervals."""


def data(overs: Iterable[Over]) -> pd.DataFrame:
    """Give one row a base, LM and response, "Total" last, with both intervals."""
    rows = []
    for result, known in overs:
        for lm in result.lms:
            values = result.delta.loc[lm.lm].to_dict()
            of_base = {**result.bases, TOTAL: result.base}
            values |= {TOTAL: result.totals[lm.lm]} if len(result.totals) else {}
            for label, value in values.items():
                row = {"lm": lm.lm, "label": lm.label, "response": label, "base": of_base[label]}
                rows.append(row | {"delta_loglik": value} | columns(known, lm.lm, label))
    names = ["lm", "label", "response", "base", "delta_loglik"]
    return pd.DataFrame(rows, columns=[*names, *columns(known, "", "")])


def draw(overs: list[Over], baseline: str | None) -> "Figure":
    """Draw total ΔLogLik as dots, one panel a base, one row an LM, each panel on its own scale."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    first, known = overs[0]
    looks, lms = style.looks(first.lms), first.lms
    baseline_lm = next((lm for lm in lms if lm.lm == baseline), None)
    figure = Figure(figsize=(style.WIDTH, 1.0 + 0.19 * len(lms)), layout="constrained")
    for axes, (result, sure) in zip(figure.subplots(1, 2, sharey=True), overs, strict=True):
        totals = result.totals
        if baseline_lm:
            axes.axvline(totals[baseline], color=BASELINE, ls=DASHES, lw=1, zorder=1)
        for y, lm in enumerate(lms):
            look = looks[lm.lm]
            interval_line(
                axes, *against(sure, result, lm.lm, TOTAL), y, look.colour, f"interval {lm.lm}"
            )
            axes.plot(totals[lm.lm], y, look.marker, mfc=look.face, mec=look.colour, ms=4.6,
                      gid=f"dot {lm.lm}", zorder=5)  # fmt: skip
        axes.set_title(bases.TITLES.get(result.base, ""), size=8.5)
        axes.set_xlabel("ΔLogLik (nats)")
        axes.grid(axis="both")
        axes.xaxis.set_major_locator(MaxNLocator(5, min_n_ticks=2))
        axes.xaxis.set_major_formatter(lambda value, _: style.tick(value))
        axes.margins(x=0.08)
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        axes.set_yticks(range(len(lms)), [lm.label for lm in lms])
        axes.set_ylim(len(lms) - 0.4, -0.6)
    key(figure, lms, "dots", [(f"baseline: {baseline_lm.label}", BASELINE)] if baseline_lm else [])
    many = len(first.summed)
    over = first.summed[0] if many == 1 else f"summed over {many} responses"
    words = [f"{over}; {explained(known, baseline_lm and baseline_lm.label)}", *first.missing]
    style.notes(figure, words)
    return figure


def layout(overs: list[Over], baseline: str | None, title: str) -> Table:
    """Set out a block a response, the total first: each base has ΔLogLik and its difference."""
    first, _ = overs[0]
    named = next((lm.label for lm in first.lms if lm.lm == baseline), None)
    heads = ["ΔLogLik", *([f"\N{MINUS SIGN} {named}", "95 %"] if named else ["95 %"])]
    top = [Cell(""), Cell("")]
    top += [Cell(bases.TITLES.get(result.base, ""), span=len(heads)) for result, _ in overs]
    header = [top, [Cell("Response", left=True), Cell("LM", left=True), *map(Cell, heads * 2)]]
    grid, rules = [], []
    for label in [*([TOTAL] if len(first.totals) else []), *first.delta.columns]:
        rules += [len(grid)] if grid else []
        for place, lm in enumerate(first.lms):
            cells = [Cell("" if place else label, left=True), Cell(lm.label, left=True)]
            for result, known in overs:
                cells += _cells(result, known, lm.lm, label, bool(named))
            grid.append(cells)
    notes = [
        *(f"{bases.SHORT[result.base]}: ΔLogLik over {bases.NAMED[result.base]}" for result, _ in overs
          if result.base in bases.NAMED),
        ("nats on the exploratory partition; 95 % intervals, of the difference where there is one, in "
        "bold where it leaves zero out (totals: all pairs of LMs taken together)"),
    ]  # fmt: skip
    if any(result.unconverged for result, _ in overs):
        notes.append("†: the regression did not converge")
    return Table(title, header, grid, notes + first.missing, tuple(rules))


def _cells(result: Comparison, known: Intervals, lm: str, label: str, paired: bool) -> list[Cell]:
    """Return the cells of an LM and response over one base."""
    value = result.totals[lm] if label == TOTAL else result.delta.loc[lm].get(label, math.nan)
    cells = [Cell(style.number(value) + ("†" if (lm, label) in result.unconverged else ""))]
    if not paired:
        return [*cells, Cell(ends(known.own.get((lm, label))))]
    found = known.paired.get((lm, label))
    if found is None:
        return [*cells, Cell(), Cell()]
    return [*cells, Cell(style.signed(found.value), bold=found.sure), Cell(ends(found))]


def main(
    *,
    delta_loglik: str | Path,
    intervals: str | Path,
    beside: str | Path,
    beside_intervals: str | Path,
    figure: Iterable[str | Path],
    table: Iterable[str | Path],
    lms: Iterable[Mapping],
    responses: Iterable[Mapping],
    baseline: str | None = None,
    not_run: str | Path | None = None,
    title: str = "ΔLogLik over two bases",
) -> None:
    """Draw the totals to `figure` (.pdf, .svg, .png, .csv), write `table` (.csv, .html, .tex).

    `delta_loglik` and `intervals` are over the base that ranks, the other two over that beside it.
    """
    asked = {"lms": list(lms), "responses": list(responses), "not_run": not_run}
    overs = []
    for values, sure in ((delta_loglik, intervals), (beside, beside_intervals)):
        result = comparison.read(values, **asked)
        overs.append((result, interval_files.read(sure, result)))
    rows = data(overs)
    drawn = all(len(result.totals) for result, _ in overs)
    with style.use():
        plot = draw(overs, baseline) if drawn else style.empty(overs[0][0].missing)
        style.save(plot, figure, rows[rows.response == TOTAL])
    tables.write(table, layout(overs, baseline, title), rows)
