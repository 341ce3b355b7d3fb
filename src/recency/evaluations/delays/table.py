"""Response function of each delayed effect by lag or delay, and its sum, by response and LM."""

import numpy as np
import pandas as pd

from recency.evaluations.delays import delay_curves
from recency.figures import comparison, style, tables
from recency.figures.comparison import Described, Response
from recency.figures.paths import File, Files
from recency.figures.tables import Table

PRODUCT = {
    "makes": {"out": ("table_delays", "Table of delayed effects")},
    "reads": ["delays", "curves=delay_curves", "not_run"],
    "settings": ["lms", "responses=delayed_responses"],
}

SECONDS = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0)
"""Delays in seconds at which a kernel is tabulated, up to its end."""


def at_delays(curve: pd.DataFrame) -> pd.DataFrame:
    """Return a curve at each lag, or at SECONDS by interpolation."""
    if (curve.kind == "lags").all():
        return curve
    inside = [x for x in SECONDS if curve.x.min() <= x <= curve.x.max()]
    columns = {name: np.interp(inside, curve.x, curve[name]) for name in ("value", "low", "high")}
    return pd.DataFrame({"x": inside, **columns})


def layout(
    rows: pd.DataFrame, curves: pd.DataFrame, done: list[Response], notes: list[str], title: str
) -> Table:
    """Return the table: a block per response, with LMs, effects and delays beneath one another."""
    grid, rules = [], []
    for response in done:
        block = rows[rows.response == response.label]
        rules += [len(grid)] if grid else []
        first = f"{response.label} ({style.UNITS.get(str(block.unit.iloc[0]), block.unit.iloc[0])})"
        for _, row in block[block.term.notna()].iterrows():
            mine = curves[
                (curves.response == response.label)
                & (curves.lm == row.lm)
                & (curves.design == row.design)
                & (curves.term == row.term)
            ]
            heads = [first, row.label, row.term]
            unit = "words" if row.kind == "lags" else "s"
            for _, point in at_delays(mine).iterrows():
                grid.append([*heads, f"{point.x:g} {unit}", *_figures(point.value, point)])
                heads = ["", "", ""]
            grid.append([*heads, "cumulative", *_figures(row.cumulative, row)])
            if isinstance(row.parameters, str):
                grid.append(["", "", "", "kernel", row.parameters, ""])
            first = ""
    legend = [
        "effect: in the response's unit per unit of the predictor, by lag in words or delay in seconds",
        "cumulative: effect of one more unit at every word; intervals: pointwise, 95 %",
    ]
    legend += [f"{r.label}: {r.note}" for _, r in rows.iterrows() if isinstance(r.note, str)]
    header = ["Response", "LM", "Term", "Delay", "effect", "95 % interval"]
    left = ("Response", "LM", "Term", "Delay")
    return Table(title, header, grid, [*legend, *notes], tuple(rules), left=left)


def _figures(value: float, ends: pd.Series) -> list[str]:
    span = "" if pd.isna(ends.low) else style.interval(ends.low, ends.high, decimals=2)
    return [style.number(value, 2), span]


def main(
    *,
    delays: File,
    curves: File,
    out: Files,
    lms: Described,
    responses: Described,
    not_run: File | None = None,
    title: str = "Delayed effects by response and language model",
) -> None:
    """Write the table to `out` (.csv tidy, .html, .tex)."""
    columns = delay_curves.COLUMNS
    rows, models, done, missing = comparison.read_rows(delays, columns, lms, responses, not_run)
    points = comparison.table(curves, delay_curves.CURVES)
    points = comparison.with_responses(points, done, models)
    tables.write(out, layout(rows, points, done, missing, title), rows)
