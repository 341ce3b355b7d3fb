"""Adding either of two LMs to the other in one regression: ΔLogLik and permutation tests."""

from recency.figures import comparison, style, tables
from recency.figures.comparison import Described
from recency.figures.paths import File, Files
from recency.figures.tables import Cell, Table

PRODUCTS = {
    "main": {
        "makes": {"out": ("table_nested", "Language models in one regression")},
        "reads": ["nested"],
        "settings": ["lms", "responses"],
        "when": "nested",
    }
}

COLUMNS = {
    *("added", "over", "dataset", "measure", "delta_loglik", "delta_loglik_fit"),
    *("low_sentence", "high_sentence", "n_exploratory", "n_held_out", "difference"),
    *("p", "p_subject", "p_sentence", "p_holm", "permutations", "converged", "note"),
}
P = {"p": "p", "p_subject": "p, by subject", "p_sentence": "p, by sentence", "p_holm": "p (Holm)"}


def main(
    *,
    nested: File,
    out: Files,
    lms: Described,
    responses: Described,
    title: str = "Adding a language model to another",
) -> None:
    """Write the comparisons to `out` (.csv, .html, .tex), both directions beneath one another."""
    models, measured = comparison.records(lms, responses)
    labels = {lm.lm: lm.label for lm in models}
    names = comparison.response_labels(measured)
    rows = comparison.table(nested, sorted(COLUMNS))
    grid = []
    for row in rows.itertuples(index=False):
        sure = row.low_sentence > 0 or row.high_sentence < 0
        ends = (style.interval(row.low_sentence, row.high_sentence),)
        grid.append(
            [names.get((row.dataset, row.measure), row.dataset)]
            + [labels.get(row.added, row.added), labels.get(row.over, row.over)]
            + [Cell(style.number(row.delta_loglik), ends, bold=bool(sure))]
            + [style.number(row.delta_loglik_fit), style.signed(row.difference, 2)]
            + [
                Cell(style.p_value(getattr(row, p)), bold=p == "p_holm" and row.p_holm < 0.05)
                for p in P
            ]
        )
    header = ["Response", "Added", "to", "ΔLogLik", "in the fit", "ΔMSE", *(P.values())]
    times = ", ".join(f"{int(n):,}" for n in sorted(rows.permutations.dropna().unique()))
    notes = [
        (
            "ΔLogLik in nats, of the regression with both language models relative to that without the "
            "added one, on the exploratory partition, with its 95 % interval over sentences beneath; "
            "bold where that excludes zero. In the fit: on the fit partition, where more "
            "terms never fit worse"
        ),
        (
            "ΔMSE: difference of mean squared errors on the held-out partition; below 0, the added LM "
            "helps. p: two-sided, Student's t, with the standard error by subjects and sentences at once; by "
            f"subject, by sentence: permutation tests ({times or 'no'} permutations), all errors of a subject, "
            "or of a sentence, swapped together; Holm's correction is over the table's rows"
        ),
    ]
    odd = rows[~rows.converged.astype(str).eq("True")]
    if len(odd):
        which = "; ".join(f"{r.added} to {r.over}, {r.dataset}" for r in odd.itertuples())
        notes.append(f"not converged: {which}")
    rules = tuple(range(2, len(grid), 2))
    tables.write(out, Table(title, header, grid, notes, rules, left=3), rows)
