"""ΔLogLik on held-out folds, by response and LM, with its intervals."""

from pathlib import Path

import pandas as pd

from recency.evaluations.cross_validation import delta_loglik
from recency.figures import bases, comparison, style, tables
from recency.figures.comparison import LM, Described, Response
from recency.figures.paths import File, Files
from recency.figures.tables import Table

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
    path: File, lms: Described, responses: Described, not_run: File | None
) -> tuple[pd.DataFrame, list[LM], list[Response], list[str]]:
    """Read cross_validation.csv with `response` added, and `per`: ΔLogLik of PER observations.

    `per_…` of the intervals' ends are added as well. Also returns the LMs, the responses that were
    run, and sentences on those that were not.
    """
    columns = delta_loglik.COLUMNS
    rows, models, done, lost = comparison.read_rows(path, columns, lms, responses, not_run)
    comparison.refuse_twice(path, rows)
    for name in (*LIKELIHOODS, *delta_loglik.INTERVALS):
        rows[name] = rows[name].astype(float)
        rows[f"per_{name}"] = rows[name] / rows.n * PER
    return rows, models, done, lost + comparison.failed_fits(rows, "delta_loglik")


def folds(rows: pd.DataFrame) -> str:
    """Say how many folds there are, of what, from which seed."""
    row = rows.iloc[0]
    return f"{row.folds} folds of whole {row.by}s, drawn from seed {row.seed}, the same for all LMs"


def relative_to(rows: pd.DataFrame) -> str:
    """Say over which base ΔLogLik is."""
    return bases.relative_to(bases.of(rows.base.dropna()))


def layout(rows: pd.DataFrame, done: list[Response], notes: list[str], title: str) -> Table:
    """Set the rows out: a block a response, the LMs beneath one another."""
    per = f"ΔLogLik / {PER:,}"
    header = ["Response", "Observations", "LM", "ΔLogLik", per, "by subject", "by sentence"]
    header += ["At 0", "Marginal", "Folds"]
    ends = [[f"per_{end}_{by}" for end in ("low", "high")] for by in ("subject", "sentence")]
    others = ["per_delta_loglik_at_zero", "per_delta_loglik_marginal"]
    grid, rules = [], []
    for response in done:
        block = rows[rows.response == response.label]
        rules += [len(grid)] if grid else []
        for index, (_, row) in enumerate(block.iterrows()):
            ran = "" if str(row.converged).lower() == "true" else "†"
            cells = ["" if index else f"{response.label} ({row.unit})"]
            cells += ["" if index else f"{row.n:,}", row.label]
            cells += [style.number(row.delta_loglik) + ran, style.number(row.per_delta_loglik, 2)]
            cells += [style.interval(*row[names], decimals=2) for names in ends]
            cells += [style.number(value, 2) for value in row[others]]
            grid.append([*cells, f"{row.folds_better} of {row.folds}"])
    legend = []
    if len(rows):
        legend = [
            f"ΔLogLik in nats{relative_to(rows)}, on {folds(rows)}",
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
            legend.append("†: a regression of some fold did not converge")
    return Table(title, header, grid, [*legend, *notes], tuple(rules), left=("Response", "LM"))


def summary(path: Path) -> Table:
    """Give ΔLogLik by LM and response, from this table's CSV, for the summary."""
    rows = comparison.table(
        path, ["label", "response", "per_delta_loglik", "base", "folds", "by", "seed"]
    )
    names = list(dict.fromkeys(rows.response))
    grid = []
    for label, mine in rows.groupby("label", sort=False):
        values = mine.set_index("response").per_delta_loglik.astype(float).reindex(names)
        grid.append([label, *(style.number(value, 2) for value in values)])
    notes = (
        [f"ΔLogLik of {PER:,} observations, in nats{relative_to(rows)}, on {folds(rows)}"]
        if len(rows)
        else []
    )
    return Table("", ["LM", *names], grid, notes)


def main(
    *,
    cross_validation: File,
    out: Files,
    lms: Described,
    responses: Described,
    not_run: File | None = None,
    title: str = "Cross-validated ΔLogLik by response and language model",
) -> None:
    """Write the table to `out` (.csv tidy, .html, .tex)."""
    rows, _, done, missing = read(cross_validation, lms, responses, not_run)
    tables.write(out, layout(rows, done, missing, title), rows)
