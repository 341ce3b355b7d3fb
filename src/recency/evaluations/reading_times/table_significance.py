"""Permutation tests of squared errors on the held-out partition, with Holm's correction."""

from collections.abc import Mapping

import pandas as pd

from recency.figures import comparison, style, tables
from recency.figures.comparison import Described
from recency.figures.paths import File, Files
from recency.figures.tables import Cell, Row, Table

PRODUCTS = {
    "main": {
        "makes": {"out": ("table_significance", "Permutation tests")},
        "reads": ["permutation", "not_run"],
        "settings": ["lms", "responses"],
        "when": "tested",
    }
}

COLUMNS = ("lm_a", "lm_b", "dataset", "measure", "n", "mse_a", "mse_b")
COLUMNS += ("difference", "permutations")
P = {"p": "p", "p_holm": "p (Holm)", "p_subject": "p, by subject", "p_sentence": "p, by sentence"}
BOLD = ("p", "p_holm")
NUMBERS = ("n", "MSE A", "MSE B", "difference")
ALPHA = 0.05


def read(permutation: File) -> pd.DataFrame:
    """Return permutation.csv with the tests over all responses (`pooled`) first."""
    rows = comparison.table(permutation, [*COLUMNS, *P])
    rows["pooled"] = rows.dataset == "all"
    return rows.sort_values("pooled", ascending=False, kind="stable", ignore_index=True)


def name_sides(row, response: str, labels: Mapping[str, str] | None = None) -> Row:
    """Return the response and both sides of a test; a side with reliably less error is bold."""
    sides = ((row.lm_a, row.mse_a < row.mse_b), (row.lm_b, row.mse_b < row.mse_a))
    is_sure = bool(row.p_holm < ALPHA)
    return [response] + [
        Cell((labels or {}).get(name, name), bold=is_sure and bool(less), left=True)
        for name, less in sides
    ]


def main(
    *,
    permutation: File,
    out: Files,
    lms: Described,
    responses: Described,
    not_run: File | None = None,
    title: str = "Significance of differences between language models",
) -> None:
    """Write the tests to `out` (.csv, .html, .tex), those over all responses first."""
    models, measured = comparison.records(lms, responses)
    labels = {lm.lm: lm.label for lm in models}
    names = comparison.response_labels(measured) | {("all", "all"): "all responses"}
    rows = read(permutation)
    grid = [
        name_sides(
            row, names.get((row.dataset, row.measure), f"{row.dataset} {row.measure}"), labels
        )
        + [Cell(style.p_value(getattr(row, p)), bold=p in BOLD and row.p_holm < ALPHA) for p in P]
        + [f"{row.n:,.0f}", style.number(row.mse_a), style.number(row.mse_b)]
        + [style.signed(row.difference, 2)]
        for row in rows.itertuples(index=False)
    ]
    pooled = int(rows.pooled.sum())
    single = len(rows) - pooled
    rules = (pooled,) if pooled and single else ()
    header = ["Response", "LM A", "LM B", *P.values(), *NUMBERS]
    times = ", ".join(f"{int(n):,}" for n in sorted(rows.permutations.dropna().unique()))
    notes = [
        (
            "two-sided tests of squared errors on the held-out partition: ms² for times, µV² for amplitudes, which are not pooled; no unit for "
            "logarithms"
        ),
        (
            "p: Student's t, with the standard error by subjects and sentences at once; by subject, by "
            f"sentence: permutation tests ({times or 'no'} permutations), all errors of a subject, or of a "
            "sentence, swapped together; neither is a test where both vary"
        ),
        (
            f"Holm: p corrected among LMs against the baseline, over all responses ({pooled} tests with "
            f"the other pairs) and separately by response ({single}); other pairs are corrected "
            "among themselves; bold: below 0.05, with the LM that has less error"
        ),
    ]
    tested = set(zip(rows.dataset, rows.measure))
    absent = [r for r in measured if (r.dataset, r.measure) not in tested] if single else []
    notes += comparison.absent_responses(absent, comparison.reasons(not_run))
    tables.write(out, Table(title, header, grid, notes, rules, 3), rows.drop(columns="pooled"))
