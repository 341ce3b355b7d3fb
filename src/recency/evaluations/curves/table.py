"""Table of learning curves, with each LM's highest point and its later decline."""

import math

import pandas as pd

from recency.evaluations.curves import rows as reading
from recency.figures import comparison, style, tables
from recency.figures.comparison import LM, Described
from recency.figures.intervals import TOTAL, nats
from recency.figures.paths import File, Files
from recency.figures.tables import Cell, Row, Table

PRODUCT = {
    "makes": {"out": ("table_curves", "Table of the learning curves")},
    "reads": ["curves", "not_run"],
    "settings": ["lms=plain_lms", "responses", "baseline=plain_baseline", "title"],
    "summary": ("table_curves.csv", "{title}"),
}

HEADS = {
    "delta_loglik": "ΔLogLik",
    "perplexity": "Perplexity",
    "accuracy": "Pairs (%)",
    "mean_distance": "Distance",
}


def layout(rows: pd.DataFrame, lms: list[LM], baseline: str, title: str, words: list[str]) -> Table:
    """Return a row per LM and step: summed ΔLogLik, its lead over the baseline, other measures."""
    quantities = [q for q in HEADS if len(reading.of(rows, q, TOTAL))]
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
                matching = reading.of(at, quantity, TOTAL)
                line += _cells(matching.iloc[0] if len(matching) else None, quantity)
            grid.append(line)
    notes = []
    if "delta_loglik" in quantities:
        summed = len(reading.responses_of(rows))
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
    fit, text = reading.of(rows, "delta_loglik", TOTAL), reading.of(rows, "perplexity")
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


def main(
    *,
    curves: File,
    out: Files,
    lms: Described,
    responses: Described,
    baseline: str,
    title: str,
    not_run: File | None = None,
) -> None:
    """Write the table to `out` (.html, .tex; .csv with every row of curves.csv, labelled)."""
    rows, models, words = reading.read(curves, lms, responses, not_run)
    tables.write(out, layout(rows, models, baseline, title, words), rows)
