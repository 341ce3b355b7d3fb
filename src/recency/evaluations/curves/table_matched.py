"""LMs and their baseline at the same perplexity, interpolated on their learning curves."""

import math

from recency.evaluations.curves.matched import COLUMNS
from recency.figures import comparison, style, tables
from recency.figures.comparison import Described
from recency.figures.intervals import nats
from recency.figures.paths import File, Files
from recency.figures.tables import Cell, Table

PRODUCT = {
    "makes": {"out": ("table_matched", "ΔLogLik at the same perplexity")},
    "reads": ["matched=curves_matched"],
    "settings": ["lms=plain_lms"],
    "when": "fitted",
}


def layout(rows, unit: str) -> Table:
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


def main(*, matched: File, out: Files, lms: Described) -> None:
    """Write the table to `out` (.csv, .html, .tex)."""
    models, _ = comparison.records(lms, [])
    labels = {lm.lm: lm.label for lm in models}
    rows = comparison.table(matched, COLUMNS)
    rows.insert(1, "label", rows.lm.map(labels))
    rows["against_label"] = rows.against.map(labels)
    unit = next(iter(rows.unit), "token")
    tables.write(out, layout(rows, unit), rows)
