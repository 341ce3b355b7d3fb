"""ΔLogLik on held-out folds, by response and LM, with its intervals."""

import math
from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd

from recency.errors import InputError
from recency.evaluations.cross_validation import delta_loglik
from recency.figures import bases, comparison, style, tables
from recency.figures.comparison import LM, Response
from recency.figures.tables import Cell, Table

PRODUCT = {
    "makes": {"out": ("table_cross_validation", "Table of cross-validated ΔLogLik")},
    "reads": ["cross_validation", "not_run"],
    "settings": ["lms", "responses"],
    "summary": ("table_cross_validation.csv", "{title}, cross-validated"),
}
LIKELIHOODS = ("delta_loglik", "delta_loglik_at_zero", "delta_loglik_marginal")
PER = 1000
"""Observations over which figures and tables give ΔLogLik, so that responses compare."""


def read(
    path: str | Path,
    lms: Iterable[Mapping],
    responses: Iterable[Mapping],
    not_run: str | Path | None,
) -> tuple[pd.DataFrame, list[LM], list[Response], list[str]]:
    """Read cross_validation.csv with `response` added, and `per`: ΔLogLik of PER observations.

    `per_…` of the intervals' ends are added as well. Also returns the LMs, the responses that were
    run, and sentences on those that were not.
    """
    models, measured = comparison.records(lms, responses)
    rows = comparison.table(path, delta_loglik.COLUMNS)
    label = {(r.dataset, r.measure): r.label for r in measured}
    rows["response"] = [label.get(key) for key in zip(rows.dataset, rows.measure)]
    rows = rows[rows.response.notna() & rows.lm.isin([model.lm for model in models])]
    rows = rows.reset_index(drop=True)
    twice = rows[rows.duplicated(["lm", "response"])]
    if len(twice):
        raise InputError(
            f"{path}: two rows of {twice.lm.iloc[0]} on {twice.response.iloc[0]}; "
            "give each design an experiment of its own"
        )
    for name in (*LIKELIHOODS, *delta_loglik.INTERVALS):
        rows[name] = rows[name].astype(float)
        rows[f"per_{name}"] = rows[name] / rows.n * PER
    done = [r for r in measured if (rows.response == r.label).any()]
    absent = [r for r in measured if r not in done]
    lost = comparison.absent_responses(absent, comparison.reasons(not_run))
    return rows, models, done, lost + comparison.failed_fits(rows, "delta_loglik")


def folds(rows: pd.DataFrame) -> str:
    """Say how many folds there are, of what, from which seed."""
    row = rows.iloc[0]
    return f"{row.folds} folds of whole {row.by}s, drawn from seed {row.seed}, the same for all LMs"


def over(rows: pd.DataFrame) -> str:
    """Say over which base ΔLogLik is."""
    return bases.over(bases.of(rows.base.dropna()))


def interval(row: pd.Series, cluster: str) -> str:
    """Write an interval, or nothing where there is none."""
    low, high = row[f"per_low_{cluster}"], row[f"per_high_{cluster}"]
    if math.isnan(low):
        return ""
    return f"{style.number(low, 2)} to {style.number(high, 2)}"


def layout(rows: pd.DataFrame, done: list[Response], notes: list[str], title: str) -> Table:
    """Set the rows out: a block a response, the LMs beneath one another."""
    per = f"ΔLogLik / {PER:,}"
    names = ["Observations", "LM", "ΔLogLik", per, "by subject", "by sentence", "At 0", "Marginal"]
    names.append("Folds")
    header = [Cell("Response", left=True), *(Cell(name, left=name == "LM") for name in names)]
    grid, rules = [], []
    for response in done:
        block = rows[rows.response == response.label]
        rules += [len(grid)] if grid else []
        for place, (_, row) in enumerate(block.iterrows()):
            ran = "" if str(row.converged).lower() == "true" else "†"
            grid.append(
                [
                    Cell("" if place else f"{response.label} ({row.unit})", left=True),
                    Cell("" if place else f"{row.n:,}"),
                    Cell(row.label, left=True),
                    Cell(style.number(row.delta_loglik) + ran),
                    Cell(style.number(row.per_delta_loglik, 2)),
                    *(Cell(interval(row, cluster)) for cluster in ("subject", "sentence")),
                    *(
                        Cell(style.number(row[f"per_delta_loglik_{name}"], 2))
                        for name in ("at_zero", "marginal")
                    ),
                    Cell(f"{row.folds_better} of {row.folds}"),
                ]
            )
    said = []
    if len(rows):
        said = [
            f"ΔLogLik in nats{over(rows)}, on {folds(rows)}",
            (
                "each fold is scored by the fit to all the others, each observation by itself: what the fit "
                "has not seen of its subject, sentence or item adds to the variance; at 0: these effects "
                "are 0 instead; marginal: a fold's are drawn anew together"
            ),
            (
                f"ΔLogLik / {PER:,}: of {PER:,} observations; by subject, by sentence: its 95 % bootstrap "
                "intervals, drawing these anew; folds: in how many the language model helps"
            ),
        ]
        if (rows.converged.astype(str).str.lower() != "true").any():
            said.append("†: a regression of some fold did not converge")
    return Table(title, [header], grid, [*said, *notes], tuple(rules))


def summary(path: Path) -> Table:
    """Give ΔLogLik by LM and response, from this table's CSV, for the summary."""
    rows = comparison.table(
        path, ["label", "response", "per_delta_loglik", "base", "folds", "by", "seed"]
    )
    names = list(dict.fromkeys(rows.response))
    grid = []
    for label, mine in rows.groupby("label", sort=False):
        values = mine.set_index("response").per_delta_loglik.astype(float).reindex(names)
        grid.append([Cell(label, left=True), *(Cell(style.number(value, 2)) for value in values)])
    notes = (
        [f"ΔLogLik of {PER:,} observations, in nats{over(rows)}, on {folds(rows)}"]
        if len(rows)
        else []
    )
    header = [Cell("LM", left=True), *(Cell(name) for name in names)]
    return Table("", [header], grid, notes)


def main(
    *,
    cross_validation: str | Path,
    out: Iterable[str | Path],
    lms: Iterable[Mapping],
    responses: Iterable[Mapping],
    not_run: str | Path | None = None,
    title: str = "Cross-validated ΔLogLik by response and language model",
) -> None:
    """Write the table to `out` (.csv tidy, .html, .tex)."""
    rows, _, done, missing = read(cross_validation, lms, responses, not_run)
    tables.write(out, layout(rows, done, missing, title), rows)
