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
"""Number of observations to which figures and tables scale ΔLogLik, so that responses compare."""


def read(
    path: File, lms: Described, responses: Described, not_run: File | None
) -> tuple[pd.DataFrame, list[LM], list[Response], list[str]]:
    """Read cross_validation.csv, adding `response` and `per`, the ΔLogLik of PER observations.

    The ends of the intervals are scaled as well, as `per_…`. Also return the LMs, the responses
    that were run, and notes on the others.
    """
    columns = delta_loglik.COLUMNS
    rows, models, done, lost = comparison.read_rows(path, columns, lms, responses, not_run)
    comparison.refuse_twice(path, rows)
    for name in (*LIKELIHOODS, *delta_loglik.INTERVALS):
        rows[name] = rows[name].astype(float)
        rows[f"per_{name}"] = rows[name] / rows.n * PER
    return rows, models, done, lost + comparison.failed_fits(rows, "delta_loglik")


def folds(rows: pd.DataFrame) -> str:
    """Describe the number of folds, their unit and their seed."""
    row = rows.iloc[0]
    return f"{row.folds} folds of whole {row.by}s, drawn from seed {row.seed}, the same for all LMs"


def relative_to(rows: pd.DataFrame) -> str:
    """Describe the baseline of ΔLogLik."""
    return bases.relative_to(bases.of(rows.base.dropna()))


def layout(rows: pd.DataFrame, done: list[Response], notes: list[str], title: str) -> Table:
    """Return the table: a block per response, a row per LM."""
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
                "each fold is scored by the fit to the other folds, observation by observation: unseen "
                "effects of its subject, sentence or item add to the variance; at 0: these effects "
                "are 0; marginal: a fold's effects are integrated out jointly"
            ),
            (
                f"ΔLogLik / {PER:,}: for {PER:,} observations; by subject, by sentence: 95 % bootstrap "
                "intervals over these; folds: number of folds that the language model improves"
            ),
        ]
        if (rows.converged.astype(str).str.lower() != "true").any():
            legend.append("†: a regression of some fold did not converge")
    return Table(title, header, grid, [*legend, *notes], tuple(rules), left=("Response", "LM"))


def summary(path: Path) -> Table:
    """Return ΔLogLik by LM and response, from this table's CSV, for the summary."""
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
