"""Smooth against line, by response and LM: how bent the effect is, and what its bends are worth."""

import math
from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd

from recency.evaluations.smooths import curves
from recency.figures import bases, comparison, style, tables
from recency.figures.comparison import LM, Response
from recency.figures.tables import Cell, Table

PRODUCT = {
    "makes": {"out": ("table_smooths", "Table of smooths and lines")},
    "reads": ["smooths", "not_run"],
    "settings": ["lms", "responses=additive_responses"],
}


def read(
    path: str | Path,
    lms: Iterable[Mapping],
    responses: Iterable[Mapping],
    not_run: str | Path | None,
) -> tuple[pd.DataFrame, list[LM], list[Response], list[str]]:
    """Read smooths.csv with `response` added, in the order of the responses and LMs.

    Also returns the LMs, the responses that were run, and sentences on those that were not.
    """
    models, measured = comparison.records(lms, responses)
    rows = comparison.table(path, curves.COLUMNS)
    rows = labelled(rows, measured)
    rows = rows[rows.lm.isin([model.lm for model in models])].reset_index(drop=True)
    done = [r for r in measured if (rows.response == r.label).any()]
    absent = [r for r in measured if r not in done]
    return rows, models, done, comparison.absent_responses(absent, comparison.reasons(not_run))


def labelled(rows: pd.DataFrame, measured: list[Response]) -> pd.DataFrame:
    """Add `response`, the label; rows of other responses are left out."""
    label = {(r.dataset, r.measure): r.label for r in measured}
    names = [label.get(key) for key in zip(rows.dataset, rows.measure)]
    return rows.assign(response=names).dropna(subset="response")


def probability(p: float) -> str:
    """Write a p-value."""
    if math.isnan(p):
        return ""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def layout(rows: pd.DataFrame, done: list[Response], notes: list[str], title: str) -> Table:
    """Set the rows out: a block a response, the LMs and their smooths beneath one another."""
    parted = bool((rows.n_exploratory > 0).any())
    names = ["LM", "Smooth of", "edf", "p"]
    names += ["ΔLogLik", "of a line", "smooth over line", "by sentence"] if parted else []
    names += ["AIC", "of a line"]
    header = [
        Cell("Response", left=True),
        *(Cell(n, left=n in ("LM", "Smooth of")) for n in names),
    ]
    grid, rules = [], []
    for response in done:
        block = rows[rows.response == response.label]
        rules += [len(grid)] if grid else []
        before = None
        for place, (_, row) in enumerate(block.iterrows()):
            again, before = row.lm == before, row.lm
            ends = [row.low_sentence, row.high_sentence]
            text = "" if pd.isna(ends[0]) else " to ".join(style.number(e, 1) for e in ends)
            figures = [row.delta_smooth, row.delta_linear, row.delta_nonlinear]
            figures = [Cell("" if again else style.number(value)) for value in figures]
            criteria = [Cell("" if again else style.number(row[f"aic_{name}"], 1))
                        for name in ("smooth", "linear")]  # fmt: skip
            grid.append(
                [
                    Cell("" if place else f"{response.label} ({row.unit})", left=True),
                    Cell("" if again else row.label, left=True),
                    Cell(row.predictor, left=True),
                    Cell("" if pd.isna(row.edf) else f"{row.edf:.2f}"),
                    Cell(probability(row.p)),
                    *([*figures, Cell("" if again else text)] if parted else []),
                    *criteria,
                ]
            )
    said = [
        "edf: effective degrees of freedom of a smooth, 1 for a line; p: that it is flat (mgcv)"
    ]
    if parted:
        said.append(
            f"ΔLogLik in nats on the exploratory partition{bases.over(bases.of(rows.base.dropna()))}, of the additive "
            "model and of the same with lines; by sentence: 95 % bootstrap interval of smooth over line"
        )
    said += [f"{row.label}: {row.note}" for _, row in rows.iterrows() if isinstance(row.note, str)]
    return Table(title, [header], grid, [*said, *notes], tuple(rules))


def main(
    *,
    smooths: str | Path,
    out: Iterable[str | Path],
    lms: Iterable[Mapping],
    responses: Iterable[Mapping],
    not_run: str | Path | None = None,
    title: str = "Smooths and lines by response and language model",
) -> None:
    """Write the table to `out` (.csv tidy, .html, .tex)."""
    rows, _, done, missing = read(smooths, lms, responses, not_run)
    tables.write(out, layout(rows, done, missing, title), rows)
