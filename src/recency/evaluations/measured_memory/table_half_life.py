"""Memory and ΔLogLik of each LM by kind of memory, and tests between the kinds."""

from collections.abc import Mapping

import pandas as pd

from recency.evaluations.measured_memory.figure import read, summary_columns, words
from recency.evaluations.measured_memory.stated import Stated, stated_memory
from recency.evaluations.measured_memory.table import half_within, interval
from recency.evaluations.reading_times import table_significance
from recency.figures import comparison, style, tables
from recency.figures import intervals as interval_files
from recency.figures.comparison import Described
from recency.figures.intervals import TOTAL, columns
from recency.figures.paths import File, Files
from recency.figures.tables import Cell, Table

PRODUCT = {
    "makes": {
        "out": ("table_half_life", "Half-lives and ΔLogLik by the kind of memory"),
        "out_kinds": ("table_memory_kinds", "Kinds of memory, tested on the held-out partition"),
    },
    "reads": [
        "memories",
        "delta_loglik",
        "intervals=delta_loglik_intervals",
        "kinds=permutation_kinds",
        "not_run",
    ],
    "settings": ["lms=ranked", "variants", "responses"],
    "when": "ranked",
}

ORDER = ["window of words", "fading", "rewritten", "gated", "attention", "biased attention"]
TESTS = [
    "two-sided tests of squared errors on the held-out partition; errors of a kind are means over its LMs and their seeds",
    (
        "p: Student's t, with the standard error by subjects and sentences at once; by subject, by sentence: "
        "permutation tests, all errors of a subject, or of a sentence, swapped together"
    ),
    "Holm: p corrected for the pairs of kinds, separately for all responses together and by response; bold below 0.05, with the kind that has less error",
]


def write_stated(stated: Stated) -> str:
    """Format the memory implied by an LM's settings."""
    if stated.window > 0:
        return f"window of {stated.window:g}"
    if not stated.half_life > 0:
        return "–"
    spread = f" ({words(stated.low)} to {words(stated.high)})" if stated.low < stated.high else ""
    return words(stated.half_life) + spread


def rows(result, bounds, memories, models) -> pd.DataFrame:
    """Return one row per LM, by kind, then by ΔLogLik."""
    table = pd.DataFrame(
        {
            "lm": lm.lm,
            "label": lm.label,
            "kind": lm.memory,
            "half_life": interval(memories[lm.lm]),
            "half_within": half_within(memories[lm.lm]),
            "stated": write_stated(stated_memory(lm, memories[lm.lm].units)),
            "delta_loglik": result.totals.get(lm.lm),
        }
        | summary_columns(memories[lm.lm])
        | columns(bounds, lm.lm, TOTAL)
        for lm in models
    )
    rank = {kind: number for number, kind in enumerate(ORDER)}
    order = table.assign(place=table.kind.map(rank).fillna(len(rank)))
    order = order.sort_values(["place", "kind", "delta_loglik"], ascending=[True, True, False])
    return order.drop(columns="place").reset_index(drop=True)


def layout(data: pd.DataFrame, base: str) -> Table:
    """Return one row per LM, with rules between kinds."""
    texts = ["LM", "Kind of memory", "Half-life (words)", "Half within (words)", "Stated (tokens)"]
    header = [*texts, "ΔLogLik (nats)"]
    grid, rules = [], []
    for number, row in enumerate(data.itertuples(index=False)):
        if number and row.kind != data.kind[number - 1]:
            rules.append(number)
        grid.append([row.label, row.kind or "–", row.half_life, row.half_within, row.stated])
        grid[-1].append(style.signed(row.delta_loglik))
    notes = [
        (
            "Half-life: half-life of an exponential with a floor, fitted to the measured effect, with its 95 % "
            "interval; > or <: a bound where it is not identified"
        ),
        (
            "Half within: distance that contains half of the effect, excluding the next word, with its "
            "95 % interval"
        ),
        "Stated: ln 2/m for a slope shared by all heads, ln 2/−ln α for a fading state, for units the median and quartiles",
        *filter(None, [base]),
    ]
    return Table("Memory and ΔLogLik", header, grid, notes, tuple(rules), left=2)


def tested(tests: pd.DataFrame, names: Mapping[tuple[str, str], str]) -> Table:
    """Return the tests of each pair of kinds, over all responses first."""
    pooled = int((tests.dataset == "all").sum())
    grid = [
        table_significance.name_sides(row, names.get((row.dataset, row.measure), row.dataset))
        + [style.signed(row.difference, 2)]
        + [style.p_value(p) for p in (row.p, row.p_subject, row.p_sentence)]
        + [Cell(style.p_value(row.p_holm), bold=row.p_holm < table_significance.ALPHA)]
        + [f"{row.n:,.0f}"]
        for row in tests.itertuples(index=False)
    ]
    texts = [
        "Response",
        "Kind A",
        "Kind B",
        "MSE A − MSE B",
        "p",
        "p, by subject",
        "p, by sentence",
    ]
    rules = (pooled,) if 0 < pooled < len(tests) else ()
    title = "Kinds of memory, on the held-out partition"
    return Table(title, [*texts, "p (Holm)", "n"], grid, TESTS, rules, left=3)


def main(
    *,
    memories: Files,
    delta_loglik: File,
    intervals: File,
    kinds: File,
    out: Files,
    out_kinds: Files,
    lms: Described,
    variants: Described,
    responses: Described,
    not_run: File | None = None,
) -> None:
    """Write the LMs' table to `out` and the kinds' table to `out_kinds` (.csv, .html, .tex)."""
    lms, responses = list(lms), list(responses)
    models, measured = comparison.records(lms, responses)
    result = comparison.read(delta_loglik, lms=lms, responses=responses, not_run=not_run)
    remembered, _ = read(memories, variants)
    data = rows(result, interval_files.read(intervals, result), remembered, models)
    tables.write(out, layout(data, result.base), data)
    tests = comparison.table(kinds, ["lm_a", "lm_b", "dataset", "measure", "p_holm"])
    tests = tests.iloc[(tests.dataset != "all").argsort(kind="stable")].reset_index(drop=True)
    names = comparison.response_labels(measured) | {("all", "all"): "all responses"}
    tables.write(
        out_kinds, tested(tests, names), tests.rename(columns={"lm_a": "kind_a", "lm_b": "kind_b"})
    )
