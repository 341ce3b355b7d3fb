"""Tables of held-out tests, and of the observations and seeds that they and ΔLogLik rest on.

- `table_significance`: permutation tests of squared errors, with Holm's correction.
- `table_nested`: adding either of two LMs to the other in one regression.
- `table_observations`: observations per partition, reproduced and published (Clark et al. 2025, Table 1).
- `table_seeds`: ΔLogLik of LMs trained from several seeds, and the contribution of seeds to its uncertainty.
"""

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from recency.errors import InputError
from recency.figures import comparison, style, tables
from recency.figures.comparison import Response, View
from recency.figures.paths import File, Files
from recency.figures.tables import Cell, Row, Table

PRODUCTS = {
    "table_nested": {
        "makes": {"out": ("table_nested", "Language models in one regression")},
        "reads": ["nested"],
        "settings": ["lms", "responses"],
        "when": "nested",
    },
    "table_observations": {
        "makes": {"out": ("table_observations", "Observations")},
        "reads": ["counts", "not_run"],
        "settings": ["responses"],
        "published": "observations",
    },
    "table_seeds": {
        "makes": {"out": ("table_seeds", "ΔLogLik by seed")},
        "reads": ["seeds"],
        "settings": ["lms=lms_but_for_seed", "responses"],
        "when": "seeds",
    },
    "table_significance": {
        "makes": {"out": ("table_significance", "Permutation tests")},
        "reads": ["permutation", "not_run"],
        "settings": ["lms", "responses"],
        "when": "tested",
    },
}


NESTED_COLUMNS = {
    *("added", "over", "dataset", "measure", "delta_loglik", "delta_loglik_fit"),
    *("low_sentence", "high_sentence", "n_exploratory", "n_held_out", "difference"),
    *("p", "p_subject", "p_sentence", "p_holm", "permutations", "converged", "note"),
}
NESTED_P = {
    "p": "p",
    "p_subject": "p, by subject",
    "p_sentence": "p, by sentence",
    "p_holm": "p (Holm)",
}


def table_nested(view: View, nested: File, out: Files) -> None:
    """Write the comparisons to `out` (.csv, .html, .tex), both directions beneath one another."""
    labels, names = view.labels, view.response_labels
    rows = comparison.table(nested, sorted(NESTED_COLUMNS))
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
                for p in NESTED_P
            ]
        )
    header = ["Response", "Added", "to", "ΔLogLik", "in the fit", "ΔMSE", *(NESTED_P.values())]
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
    title = "Adding a language model to another"
    tables.write(out, Table(title, header, grid, notes, rules, left=3), rows)


PARTITIONS = {"fit": "Fit", "exploratory": "Exploratory", "held_out": "Held-out"}


def sizes(counts: Files) -> dict[str, dict[str, int]]:
    """Return partitions' sizes from …/observations/{dataset}.{measure}/counts.csv, by folder."""
    partitions = {}
    for path in map(Path, counts):
        rows = comparison.table(path, ["step", "kept"]).set_index("step").kept
        if absent := [name for name in PARTITIONS if name not in rows.index]:
            raise InputError(f"{path}: no row {', '.join(absent)}; delete it to compute it again")
        partitions[path.parent.name] = {name: int(rows[name]) for name in PARTITIONS}
    return partitions


def count_observations(
    responses: list[Response], reproduced: Mapping[str, Mapping[str, int]], published: pd.DataFrame
) -> pd.DataFrame:
    """Return one row per response and partition; "Total" is over the responses that were run."""
    rows, total = [], {name: [0, 0] for name in PARTITIONS}
    run = [r for r in responses if f"{r.dataset}.{r.measure}" in reproduced]
    all_published = bool(run) and all(r.label in published.index for r in run)
    for response in responses:
        counted = reproduced.get(f"{response.dataset}.{response.measure}")
        for name in PARTITIONS:
            here = counted[name] if counted else pd.NA
            there = (
                int(published.loc[response.label, name])
                if response.label in published.index
                else pd.NA
            )
            rows.append((response.label, name, here, there))
            if counted:
                total[name][0] += here
                total[name][1] += there if all_published else 0
    if len(run) > 1:
        for name, (here, there) in total.items():
            rows.append(("Total", name, here, there if all_published else pd.NA))
    frame = pd.DataFrame(rows, columns=["response", "partition", "reproduced", "published"])
    frame[["reproduced", "published"]] = frame[["reproduced", "published"]].astype("Int64")
    frame["difference"] = frame.reproduced - frame.published
    return frame


def layout_of_observations(
    rows: pd.DataFrame, missing: list[str], source: str = "Clark et al. (2025), Table 1"
) -> Table:
    """Return the table: reproduced, published and difference per partition."""
    has_published = rows.published.notna().any()
    kinds = ["reproduced", "published", "difference"] if has_published else ["reproduced"]
    header = ["Response", *PARTITIONS.values()]
    if has_published:
        tops = [Cell(text, span=3) for text in PARTITIONS.values()]
        header = [[""] + tops, tables.header(["Response", *kinds * 3])]
    value = rows.set_index(["response", "partition"])
    labels = list(dict.fromkeys(rows.response))
    grid = [
        [
            label,
            *(
                write_count(value.loc[(label, name), kind], kind)
                for name in PARTITIONS
                for kind in kinds
            ),
        ]
        for label in labels
    ]
    notes = ["numbers of observations after the filters, by partition"]
    if has_published:
        notes.append(
            f"published: {source}; difference: reproduced minus published; "
            "totals, published ones too, are over the responses that were run"
        )
    rules = (len(labels) - 1,) if labels and labels[-1] == "Total" else ()
    return Table("Observations in each partition", header, grid, notes + missing, rules)


def write_count(value: int, kind: str) -> str:
    """Write a count with separators, a difference with its sign, a missing value as –."""
    if pd.isna(value):
        return "\N{EN DASH}"
    return style.signed(value, 0) if kind == "difference" else f"{value:,}"


def table_observations(view: View, counts: Files, out: Files) -> None:
    """Write the table to `out` (.csv tidy, .html, .tex); `counts` are of the responses that were run."""
    reproduced = sizes(counts)
    run = [r.label for r in view.responses if f"{r.dataset}.{r.measure}" in reproduced]
    there = pd.DataFrame()
    if view.published is not None:
        there = comparison.table(view.published, ["corpus_measure", *PARTITIONS])
        there = there.set_index("corpus_measure")
    rows = count_observations(view.responses, reproduced, there)
    tables.write(out, layout_of_observations(rows, view.absent(run)), rows)


FIGURES = {
    "seeds": "Seeds",
    "delta_loglik": "ΔLogLik",
    "sd_seed": "SD between seeds",
    "se_seeds": "SE of seeds",
    "se_sentences": "SE of sentences",
    "se": "SE",
}


def table_seeds(view: View, seeds: File, out: Files) -> None:
    """Write the table to `out` (.csv, .html, .tex) from seeds.csv; LMs are without their seeds."""
    labels, names = view.labels, view.response_labels
    rows = comparison.table(seeds, ["lm", "against", "dataset", "measure", *FIGURES])
    rows["against"] = rows.against.fillna("")
    grid, rules, before = [], [], None
    for row in rows.itertuples(index=False):
        kind = (row.dataset, row.measure, row.against != "")
        if before not in (None, kind):
            rules.append(len(grid))
        before = kind
        name = labels.get(row.lm, row.lm)
        if row.against:
            name += f" \N{MINUS SIGN} {labels.get(row.against, row.against)}"
        sure, ends = row.low > 0 or row.high < 0, (style.interval(row.low, row.high),)
        line = [names[row.dataset, row.measure], name, f"{row.seeds}"]
        line.append(Cell(style.number(row.delta_loglik), ends, bold=bool(sure)))
        grid.append(line + [style.number(getattr(row, key)) for key in list(FIGURES)[2:]])
    header = ["Response", "LM or pair", *FIGURES.values()]
    notes = [
        (
            "ΔLogLik in nats on the exploratory partition, the mean over seeds, with its 95 % interval "
            "beneath; bold where the interval excludes zero"
        ),
        (
            "95 %: a normal distribution for the sentences plus Student's t with S − 1 degrees of "
            "freedom for the S seeds, as for every interval over seeds, hence wider than 1.96 SE"
        ),
        (
            "SD between seeds: of the sum over sentences, for one seed. Standard errors are of the mean "
            "over seeds, by source; SE includes both and the residual's"
        ),
        "for pairs of LMs: the difference, over the seeds that both have",
    ]
    table = Table("ΔLogLik over seeds", header, grid, notes, tuple(rules), left=2)
    tables.write(out, table, rows)


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


def table_significance(view: View, permutation: File, out: Files) -> None:
    """Write the tests to `out` (.csv, .html, .tex), those over all responses first."""
    labels = view.labels
    names = view.response_labels | {("all", "all"): "all responses"}
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
    tested = {names.get(key) for key in zip(rows.dataset, rows.measure)}
    notes += view.absent(tested) if single else []
    title = "Significance of differences between language models"
    tables.write(out, Table(title, header, grid, notes, rules, 3), rows.drop(columns="pooled"))
