"""Permutation tests of squared errors on the held-out partition, with Holm's correction."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd

from recency.figures import comparison, style, tables
from recency.figures.tables import Cell, Table

PRODUCT = {
    "makes": {
        "out": ("table_significance", "Permutation tests"),
    },
    "reads": ["permutation", "not_run"],
    "settings": ["lms", "responses"],
    "when": "tested",
}

COLUMNS = {
    "lm_a",
    "lm_b",
    "dataset",
    "measure",
    "n",
    "mse_a",
    "mse_b",
    "difference",
    "permutations",
}
P = {
    "p": "p",
    "p_holm": "p (Holm)",
    "p_subject": "p, by subject",
    "p_sentence": "p, by sentence",
}


def write_p(p: float) -> str:
    """Write a p value: "< 0.001", else to three decimals."""
    if pd.isna(p):
        return "\N{EN DASH}"
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def read(permutation: str | Path) -> pd.DataFrame:
    """Read permutation.csv, the tests over all responses (`pooled`) first."""
    rows = comparison.table(permutation, [*COLUMNS, *P])
    rows["pooled"] = rows.dataset == "all"
    return rows.sort_values("pooled", ascending=False, kind="stable", ignore_index=True)


def main(
    *,
    permutation: str | Path,
    out: Iterable[str | Path],
    lms: Iterable[Mapping],
    responses: Iterable[Mapping],
    not_run: str | Path | None = None,
    title: str = "Significance of differences between language models",
) -> None:
    """Write the tests to `out` (.csv, .html, .tex), those over all responses first."""
    models, measured = comparison.records(lms, responses)
    labels = {lm.lm: lm.label for lm in models}
    names = {(r.dataset, r.measure): r.label for r in measured} | {("all", "all"): "all responses"}
    rows = read(permutation)
    grid = []
    for row in rows.itertuples(index=False):
        found = row.p_holm < 0.05
        bold = {"p": found, "p_holm": found}
        grid.append(
            [
                Cell(
                    names.get((row.dataset, row.measure), f"{row.dataset} {row.measure}"), left=True
                ),
                Cell(
                    labels.get(row.lm_a, row.lm_a), bold=found and row.mse_a < row.mse_b, left=True
                ),
                Cell(
                    labels.get(row.lm_b, row.lm_b), bold=found and row.mse_b < row.mse_a, left=True
                ),
                *(Cell(write_p(getattr(row, p)), bold=bool(bold.get(p, False))) for p in P),
                Cell(f"{row.n:,.0f}"),
                Cell(style.number(row.mse_a)),
                Cell(style.number(row.mse_b)),
                Cell(style.signed(row.difference, 2)),
            ]
        )
    pooled = int(rows.pooled.sum())
    single = len(rows) - pooled
    rules = (pooled,) if pooled and single else ()
    numbers = [*P.values(), "n", "MSE A", "MSE B", "difference"]
    header = [[Cell(text, left=True) for text in ("Response", "LM A", "LM B")]]
    header[0] += [Cell(text) for text in numbers]
    times = ", ".join(f"{int(n):,}" for n in sorted(rows.permutations.dropna().unique()))
    notes = [
        f"two-sided permutation tests of squared errors on the held-out partition ({times or 'no'} "
        + "permutations): ms² of times, µV² of amplitudes, which are not tested together; no unit for "
        + "logarithms",
        "by subject, by sentence: all errors of a subject, or of a sentence, are swapped together; "
        + "p: the larger of the two",
        f"Holm: p corrected among LMs against the baseline, over all responses ({pooled} tests with "
        + f"the other pairs) and, apart from these, by response ({single}); other pairs are corrected "
        + "among themselves; below 0.05 in bold, with the LM that has less error",
    ]
    tested = set(zip(rows.dataset, rows.measure))
    absent = [r for r in measured if (r.dataset, r.measure) not in tested] if single else []
    notes += comparison.absent_responses(absent, comparison.reasons(not_run))
    tables.write(out, Table(title, header, grid, notes, rules), rows.drop(columns="pooled"))
