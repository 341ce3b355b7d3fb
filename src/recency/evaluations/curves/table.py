"""Learning curves in a table; and what they come to: each LM's highest point, and what follows it."""

import math
from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd

from recency.evaluations.curves import rows as reading
from recency.figures import comparison, style, tables
from recency.figures.comparison import LM
from recency.figures.intervals import TOTAL, nats
from recency.figures.tables import Cell, Table

PRODUCT = {
    "makes": {"out": ("table_curves", "Table of the learning curves")},
    "reads": ["curves", "not_run"],
    "settings": ["lms=plain_lms", "responses", "baseline=plain_baseline", "title"],
    "summary": ("table_curves.csv", "{title}"),
}

DECIMALS = {"delta_loglik": 1, "perplexity": 1, "accuracy": 1, "mean_distance": 1}
HEADS = {
    "delta_loglik": "ΔLogLik",
    "perplexity": "Perplexity",
    "accuracy": "Pairs (%)",
    "mean_distance": "Distance",
}


def layout(rows: pd.DataFrame, lms: list[LM], baseline: str, title: str, words: list[str]) -> Table:
    """Set out a line an LM and step: summed ΔLogLik, what it is above the baseline, the rest."""
    quantities = [q for q in HEADS if len(reading.of(rows, q, TOTAL))]
    named = next(lm.label for lm in lms if lm.lm == baseline)
    heads = ["LM", "Step", "Tokens (M)"]
    for quantity in quantities:
        heads.append(HEADS[quantity])
        heads += [f"− {named}"] * (quantity in ("delta_loglik", "accuracy"))
    grid, rules = [], []
    for lm in lms:
        mine = rows[rows.lm == lm.lm]
        rules.append(len(grid))
        for step, at in mine.groupby("step"):
            first = Cell(lm.label if len(grid) == rules[-1] else "", left=True)
            line = [first, Cell(f"{step:,}"), Cell(style.tick(round(at.tokens.iloc[0] / 1e6, 3)))]
            for quantity in quantities:
                found = reading.of(at, quantity, TOTAL)
                line += _cells(found.iloc[0] if len(found) else None, quantity)
            grid.append(line)
    notes = []
    if "delta_loglik" in quantities:
        summed = len(reading.responses_of(rows))
        notes.append(
            f"ΔLogLik: nats on the exploratory partition, summed over {summed} responses; − {named}: "
            "the difference from it at the same step, its 95 % interval beneath, in bold where it "
            "leaves zero out"
        )
    if "mean_distance" in quantities:
        notes.append("distance: how far back attention looks, tokens, a mean over heads and layers")
    if (rows.seeds > 1).any():
        notes.append(f"means over {rows.seeds.max()} seeds; intervals are over seeds too")
    if not rows.converged.all():
        notes.append("†: a regression did not converge")
    header = [Cell(head, left=place == 0) for place, head in enumerate(heads)]
    return Table(title, [header], grid, notes + words, tuple(rules[1:]))


def _cells(row, quantity: str) -> list[Cell]:
    """Return the cells of a quantity of a point, and of its difference from the baseline."""
    compared = quantity in ("delta_loglik", "accuracy")
    if row is None:
        return [Cell()] * (1 + compared)
    text = style.number(row.value, DECIMALS[quantity]) + ("" if row.converged else "†")
    cells = [Cell(text, (_ends(row.low, row.high),))]
    if compared:
        low, high = row.low_over_baseline, row.high_over_baseline
        known = not math.isnan(row.over_baseline)
        cells.append(
            Cell(style.signed(row.over_baseline), (_ends(low, high),), bold=low > 0 or high < 0)
            if known
            else Cell()
        )
    return cells


def _ends(low: float, high: float) -> str:
    return "" if math.isnan(low) else f"{nats(low)} to {nats(high)}"


def summary(path: str | Path) -> Table:
    """Set out, of table_curves.csv, each LM's highest summed ΔLogLik and what training then did."""
    rows = comparison.table(path, ["quantity", "label", "step", "response", "value", "over_last"])
    rows.response = rows.response.astype(object).fillna("")
    rows.dataset = rows.dataset.astype(object).fillna("")
    fit, text = reading.of(rows, "delta_loglik", TOTAL), reading.of(rows, "perplexity")
    heads = [
        "LM",
        "Highest at",
        "ΔLogLik",
        "Perplexity",
        "At the end",
        "Perplexity",
        "Since",
        "95 %",
    ]
    grid, said = [], []
    for label, mine in fit.groupby("label", sort=False):
        ppl = text[text.label == label].set_index("step").value
        top, last = mine.loc[mine.value.idxmax()], mine.loc[mine.step.idxmax()]
        line = [Cell(label, left=True)]
        for row in (top, last):
            at = [Cell(_place(row))] if row is top else []
            line += [*at, Cell(style.number(row.value)), Cell(style.number(ppl[row.step]))]
        if top.step == last.step:
            grid.append([*line, Cell("\N{EN DASH}"), Cell("\N{EN DASH}")])
            said.append(f"{label} fits best at the end of its training")
            continue
        low, high = -top.high_over_last, -top.low_over_last
        sure = high < 0
        grid.append([*line, Cell(style.signed(-top.over_last), bold=bool(sure)), Cell(_ends(low, high))])  # fmt: skip
        fell = f"perplexity {nats(ppl[top.step])} → {nats(ppl[last.step])}"
        said.append(
            f"{label} fits best at step {top.step:,}; since then ({fell}) it "
            + ("fits less well" if sure else "is not known to fit less well")
        )
    header = [Cell(head, left=place == 0) for place, head in enumerate(heads)]
    about = (
        "ΔLogLik in nats, summed over the responses; since: the end less the highest, in bold where the "
        "interval, which holds for all of an LM's steps together, leaves zero out"
    )
    return Table("", [header], grid, [*said, about])


def _place(row) -> str:
    """Say where on a curve a row is."""
    return f"step {row.step:,}, {style.tick(round(row.tokens / 1e6, 2))} M tokens"


def main(
    *,
    curves: str | Path,
    out: Iterable[str | Path],
    lms: Iterable[Mapping],
    responses: Iterable[Mapping],
    baseline: str,
    title: str,
    not_run: str | Path | None = None,
) -> None:
    """Write the table to `out` (.html, .tex; .csv for every row of curves.csv, labelled)."""
    rows, models, words = reading.read(curves, lms, responses, not_run)
    tables.write(out, layout(rows, models, baseline, title, words), rows)
