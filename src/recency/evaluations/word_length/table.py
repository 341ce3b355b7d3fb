"""Length by type, compared with surprisal and frequency: ρ, Steiger's test, shares and slopes."""

import math

import pandas as pd

from crosslmm.stats.correlations import correlation
from recency.evaluations.word_length.types import COLUMNS, FREQUENCIES, LARGE, SMALL
from recency.figures import comparison, style, tables
from recency.figures.comparison import Described
from recency.figures.paths import File, Files
from recency.figures.tables import Cell, Table

PRODUCT = {
    "makes": {"out": ("table_word_length", "Surprisal, frequency and length by type")},
    "reads": ["lengths=word_length"],
    "settings": ["lms", "title", "frequency_of"],
    "published": "word_length",
    "summary": ("table_word_length.csv", "{title}: surprisal and length by type"),
}

#: The row for all LMs in data/published/thesis_table8_1.csv.
OF_PERPLEXITY = "perplexity"
NOTES = [
    "types are words of lower-case letters; ρ is Spearman's correlation of length and mean surprisal, 95 % interval beneath; common: for the most frequent types only",
    "Steiger's t: test of ρ against that of the larger text's frequency, positive if length correlates more with the LM's surprisal",
    "variance of length (%), sequentially explained: frequency in the text, in the larger one, surprisal, surprisal × the larger one's frequency",
    "slopes: regression of length on surprisal and on the larger text's frequency, in standard deviations, ± standard errors",
]


def labels_of(lms: Described, frequency_of: str) -> dict[str, str]:
    """Return the label of each LM and of both frequencies."""
    labels = {lm["lm"]: lm["label"] for lm in lms}
    return labels | {SMALL: "frequency in the text", LARGE: f"frequency in {frequency_of}"}


def with_perplexity(rows: pd.DataFrame, published: pd.DataFrame | None) -> str:
    """Return a note on the correlation of ρ with perplexity over LMs."""
    overall = rows[(rows.level == "overall") & ~rows.lm.isin(FREQUENCIES)]
    rho = correlation(overall.rho, overall.perplexity)
    published_note = ""
    if published is not None and OF_PERPLEXITY in set(published.lm):
        row = published.set_index("lm").loc[OF_PERPLEXITY]
        published_note = f"; published {style.number(row.rho, 2)} (p {style.p_value(row.p)})"
    if math.isnan(rho.value):
        return f"ρ and perplexity: too few LMs for a correlation{published_note}"
    return (
        f"Spearman's ρ of that ρ with the perplexity per word over {rho.n} LMs: {style.number(rho.value, 2)} "
        f"(p {style.p_value(rho.p)}){published_note}"
    )


def main(
    *,
    lengths: File,
    out: Files,
    lms: Described,
    frequency_of: str,
    published: File | None = None,
    title: str = "Length by type",
) -> None:
    """Write the table to `out` (.csv tidy, .html, .tex), frequencies first, then the highest ρ."""
    rows = comparison.table(lengths, COLUMNS)
    names = labels_of(lms, frequency_of)
    rows.insert(1, "label", rows.lm.map(names))
    paper = None if published is None else comparison.table(published, ["lm", "t", "p", "rho"])
    tables.write(out, layout(rows, paper, title), rows)


def layout(rows: pd.DataFrame, published: pd.DataFrame | None, title: str) -> Table:
    """Return a row per frequency and LM, then the published tests."""
    overall = rows[rows.level == "overall"].set_index("lm")
    common = rows[rows.level == "common"].set_index("lm").rho
    order = [*FREQUENCIES, *overall.drop(list(FREQUENCIES)).sort_values("rho", ascending=False).index]  # fmt: skip
    header = ["", "ρ", "ρ, common", "t", "p", "Perplexity", "text", "larger", "surprisal", "×", "surprisal", "frequency"]  # fmt: skip
    grid = []
    for lm in order:
        row = overall.loc[lm]
        cells = [
            row.label,
            Cell(style.number(row.rho, 3), (style.interval(row.low, row.high, decimals=2),)),
        ]
        cells.append(style.number(common.get(lm, math.nan), 3))
        tested = not math.isnan(row.steiger_t)
        cells += [
            Cell(style.signed(row.steiger_t, 2) if tested else "", bold=bool(row.steiger_p < 0.05)),
            style.p_value(row.steiger_p) if tested else "",
        ]
        if lm in FREQUENCIES:
            cells += [""] * 7
        else:
            cells.append(style.number(row.perplexity, 0))
            shares = ("small", "large", "surprisal", "large_surprisal")
            cells += [style.number(100 * row[f"length_{term}"]) for term in shares]
            for term in ("surprisal", "frequency"):
                spread = f"± {style.number(row[f'slope_{term}_se'], 2)}"
                cells.append(Cell(style.signed(row[f"slope_{term}"], 2), (spread,)))
        grid.append(cells)
    rules = [len(FREQUENCIES)]
    if published is not None:
        rules.append(len(grid))
        for row in published[published.t.notna()].itertuples():
            cells = [f"published: {row.lm}", "", ""]
            grid.append([*cells, style.signed(row.t, 2), style.p_value(row.p), *[""] * 7])
    first = overall.iloc[0]
    notes = [f"{first.types:,.0f} types, {first.words:,.0f} words", *NOTES]
    notes.append(with_perplexity(rows, published))
    if published is not None:
        notes.append(
            "published: the thesis's Table 8.1, for 10 M words of WikiText-103 and frequency in 100 M"
        )
    titles = tables.header(header)
    above = [Cell(span=6), Cell("Variance of length (%)", span=4), Cell("Slopes", span=2)]
    return Table(title, [above, titles], grid, notes, rules=tuple(rules))


def summary(path: File) -> Table:
    """Return ρ and its test from this table's CSV, for the summary."""
    rows = comparison.table(path, ["label", *COLUMNS])
    overall = rows[rows.level == "overall"].sort_values("rho", ascending=False)
    header = ["", "ρ with length", "t against frequency", "p"]
    grid = [
        [
            row.label,
            style.number(row.rho, 3),
            style.signed(row.steiger_t, 2, unknown=""),
            style.p_value(row.steiger_p, ""),
        ]
        for row in overall.itertuples()
    ]
    return Table("", header, grid, [with_perplexity(rows, None)])
