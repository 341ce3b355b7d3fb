"""What either of two LMs adds to the other in one regression: ΔLogLik and permutation tests."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd

from recency.figures import comparison, style, tables
from recency.figures.tables import Cell, Table

PRODUCT = {
    "makes": {
        "out": ("table_nested", "Language models beside one another"),
    },
    "reads": ["nested"],
    "settings": ["lms", "responses"],
    "when": "nested",
}

COLUMNS = {
    *("added", "over", "dataset", "measure", "delta_loglik", "delta_loglik_fit"),
    *("low_sentence", "high_sentence", "n_exploratory", "n_held_out", "difference"),
    *("p", "p_subject", "p_sentence", "p_holm", "permutations", "converged", "note"),
}
P = {"p": "p", "p_subject": "p, by subject", "p_sentence": "p, by sentence", "p_holm": "p (Holm)"}


def main(
    *,
    nested: str | Path,
    out: Iterable[str | Path],
    lms: Iterable[Mapping],
    responses: Iterable[Mapping],
    title: str = "What a language model adds to another",
) -> None:
    """Write the comparisons to `out` (.csv, .html, .tex), the two ways of each below one another."""
    models, measured = comparison.records(lms, responses)
    labels = {lm.lm: lm.label for lm in models}
    names = {(r.dataset, r.measure): r.label for r in measured}
    rows = comparison.table(nested, sorted(COLUMNS))
    grid = []
    for row in rows.itertuples(index=False):
        sure = row.low_sentence > 0 or row.high_sentence < 0
        low, high = style.number(row.low_sentence), style.number(row.high_sentence)
        grid.append(
            [
                Cell(names.get((row.dataset, row.measure), row.dataset), left=True),
                Cell(labels.get(row.added, row.added), left=True),
                Cell(labels.get(row.over, row.over), left=True),
                Cell(style.number(row.delta_loglik), (f"{low} to {high}",), bold=bool(sure)),
                Cell(style.number(row.delta_loglik_fit)),
                Cell(style.signed(row.difference, 2)),
                *(
                    Cell(_p(getattr(row, key)), bold=key == "p_holm" and row.p_holm < 0.05)
                    for key in P
                ),
            ]
        )
    header = [Cell(text, left=True) for text in ("Response", "Added", "to")]
    header += [Cell("ΔLogLik"), Cell("in the fit"), Cell("ΔMSE"), *map(Cell, P.values())]
    times = ", ".join(f"{int(n):,}" for n in sorted(rows.permutations.dropna().unique()))
    notes = [
        "ΔLogLik in nats, of the regression with both language models over the one without the "
        + "added one, on the exploratory partition, with its 95 % interval over sentences beneath; "
        + "in bold where that leaves zero out. In the fit: lme4's, on the fit partition, where more "
        + "terms never fit worse",
        "ΔMSE: difference of mean squared errors on the held-out partition; below 0 the added one "
        + f"helps. p: the larger of two two-sided permutation p values ({times or 'no'} "
        + "permutations), with all errors of a subject or of a sentence swapped together; Holm's "
        + "correction of it is over the table's rows",
    ]
    odd = rows[~rows.converged.astype(str).eq("True")]
    if len(odd):
        which = "; ".join(f"{r.added} to {r.over}, {r.dataset}" for r in odd.itertuples())
        notes.append(f"not converged: {which}")
    rules = tuple(range(2, len(grid), 2))
    tables.write(out, Table(title, [header], grid, notes, rules), rows)


def _p(p: float) -> str:
    """Write a p value: "< 0.001", else to three decimals."""
    if pd.isna(p):
        return "\N{EN DASH}"
    return "< 0.001" if p < 0.001 else f"{p:.3f}"
