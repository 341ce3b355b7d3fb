"""The pooled analysis as a table: corpora by language, fixed and random effects, heterogeneity."""

import math

import pandas as pd

from recency import languages
from recency.evaluations.pooled.effects import ALL, SCALE
from recency.figures import comparison, style, tables
from recency.figures.comparison import Described
from recency.figures.paths import File, Files
from recency.figures.tables import Table

PRODUCT = {
    "makes": {"out": ("table_pooled", "Pooled analysis by language")},
    "reads": ["effects=pooled_effects", "pooled=pooled", "not_run"],
    "settings": ["lms=ranked_lms", "responses", "title"],
    "summary": ("table_pooled.csv", "{title}: pooled over corpora"),
}

HEADER = [
    "LM",
    "",
    "Corpora",
    "Lead",
    "95 %",
    "Fixed effect",
    "95 %",
    "τ",
    "I²",
    "Q (p)",
    "New corpus",
]


def layout(
    effects: pd.DataFrame | None,
    pooled: pd.DataFrame,
    title: str,
    notes: list[str],
) -> Table:
    """Return each LM's corpora, languages and total; `pooled` has labels."""
    grid, rules = [], []
    for (lm, label), combined in pooled.groupby(["lm", "label"], sort=False):
        rules.append(len(grid))
        first = label
        for row in combined.itertuples(index=False):
            whole = row.language == ALL
            corpora = [] if effects is None or whole else _corpora(effects, lm, row.language)
            for cells in corpora:
                grid.append([first, *cells])
                first = ""
            name = "All languages" if whole else languages.name_of(row.language)
            grid.append([first, name, *_cells(row)])
            first = ""
    return Table(title, HEADER, grid, notes, rules=tuple(rules[1:]), left=2)


def _corpora(effects: pd.DataFrame, lm: str, language: str) -> list[list[str]]:
    """Return the cells of an LM's corpora in a language, by measure and in total."""
    mine = effects[(effects.lm == lm) & (effects.language == language)]
    lines = []
    for _, part in mine.groupby("dataset", sort=False):
        single = len(part) == 2
        for row in part.itertuples(index=False):
            if row.measure == ALL and single:
                continue
            name = row.label if row.measure == ALL else f"{row.label} {row.measure}"
            ends = style.interval(row.low, row.high, decimals=2)
            lines.append([name, f"n {row.n:,}", style.number(row.effect, 2), ends, *[""] * 6])
    return lines


def _cells(row) -> list[str]:
    """Return the cells of a meta-analysis."""
    tested = "" if math.isnan(row.q) else f"{style.number(row.q)} ({style.p_value(row.q_p)})"
    return [
        f"{row.k:.0f}",
        style.number(row.random, 2),
        style.interval(row.random_low, row.random_high, decimals=2),
        style.number(row.fixed, 2),
        style.interval(row.fixed_low, row.fixed_high, decimals=2),
        style.number(math.sqrt(row.tau2), 2) if row.k > 1 else "",
        "" if math.isnan(row.i2) else f"{100 * row.i2:.0f} %",
        tested,
        style.interval(row.prediction_low, row.prediction_high, decimals=2),
    ]


def described(pooled: pd.DataFrame) -> list[str]:
    """Return notes on the columns, and tests of differences between languages."""
    baseline = pooled.against_label.iloc[0]
    notes = [
        (
            f"lead: ΔLogLik of the LM minus that of {baseline}, nats per {SCALE:,} observations; for languages "
            "the random-effects mean over corpora, with Hartung and Knapp's interval"
        ),
        (
            "fixed effect: the mean of these corpora only; τ: standard deviation of leads between corpora; "
            "new corpus: 95 % prediction interval"
        ),
    ]
    for row in pooled[(pooled.language == ALL) & pooled.p_between.notna()].itertuples():
        notes.append(
            f"difference between languages, {row.label}: Q({row.df_between:.0f}) = "
            f"{style.number(row.q_between, 2)}, p {style.p_value(row.p_between)}"
        )
    return notes


def summary(path: File) -> Table:
    """Return the meta-analyses for the summary, without corpora."""
    pooled = pd.read_csv(path)
    return layout(None, pooled, "", described(pooled))


def main(
    *,
    effects: File,
    pooled: File,
    out: Files,
    lms: Described,
    responses: Described,
    not_run: File | None = None,
    title: str = "Pooled analysis",
) -> None:
    """Write the table to `out` (.csv tidy, .html, .tex)."""
    models, measured = comparison.records(lms, responses)
    labels = {lm.lm: lm.label for lm in models}
    leads, combined = pd.read_csv(effects), pd.read_csv(pooled)
    combined = combined.assign(
        label=combined.lm.map(labels), against_label=combined.against.map(labels)
    )
    absent = comparison.absent_responses(
        [r for r in measured if r.dataset not in set(leads.dataset)], comparison.reasons(not_run)
    )
    notes = [*described(combined), *absent]
    tables.write(out, layout(leads, combined, title, notes), combined)
