"""How often LMs prefer the word to its foil, overall and by condition, compared with readers."""

import math

import pandas as pd

from crosslmm.stats.correlations import correlation
from recency.evaluations.maze.choices import COLUMNS, READERS
from recency.figures import comparison, style, tables
from recency.figures.paths import File, Files
from recency.figures.tables import Cell, Table

PRODUCT = {
    "makes": {"out": ("table_maze", "Word or foil: accuracy in the maze")},
    "reads": ["maze"],
    "settings": ["baseline", "title"],
    "published": "maze",
    "summary": ("table_maze.csv", "{title}: word or foil"),
}

#: Rows of data/published/thesis_chapter11.csv.
OF_ACCURACY = "spearman of accuracy and perplexity"
NOTES = [
    "percent of words with lower surprisal than their foil; chance is 50, ties count as wrong; beneath: 95 % interval over items",
    "margin: mean surprisal of the foil minus that of the word, bits",
    "perplexity is per word over the same sentences, comparable between tokenizers",
]


def order(rows: pd.DataFrame) -> list[str]:
    """Return readers, then the LMs, the best first."""
    overall = rows[rows.level == "overall"].sort_values("accuracy", ascending=False)
    return sorted(overall.lm, key=lambda lm: lm != READERS)


def published(path: File | None, quantity: str) -> str:
    """Format a published correlation, "published −0.56 (p = 0.036)", or an empty string."""
    if path is None:
        return ""
    rows = comparison.table(path, ["quantity", "value", "p"]).set_index("quantity")
    if quantity not in rows.index:
        return ""
    value, p = rows.value[quantity], rows.p[quantity]
    return f"; published {style.number(float(value), 2)} (p {style.p_value(float(p))})"


def with_perplexity(rows: pd.DataFrame, path: File | None) -> str:
    """Return a note on the correlation of accuracy and perplexity over LMs."""
    overall = rows[(rows.level == "overall") & (rows.lm != READERS)]
    rho = correlation(overall.accuracy, overall.perplexity)
    if math.isnan(rho.value):
        return "accuracy and perplexity: too few LMs for a correlation" + published(
            path, OF_ACCURACY
        )
    return (
        f"Spearman's ρ of accuracy and perplexity over {rho.n} LMs: {style.number(rho.value, 2)} "
        f"(p {style.p_value(rho.p)}){published(path, OF_ACCURACY)}"
    )


def not_run(rows: pd.DataFrame) -> list[str]:
    """Return a note on the LMs without surprisal of the foils, with the reason."""
    lost = rows[rows.level == "not run"]
    return [f"not run: {', '.join(rows.label)} ({why})" for why, rows in lost.groupby("group")]


def main(
    *,
    maze: File,
    out: Files,
    baseline: str,
    published: File | None = None,
    title: str = "Word or foil",
) -> None:
    """Write the table to `out` (.csv tidy, .html, .tex), readers first, then the best LM."""
    rows = comparison.table(maze, COLUMNS)
    tables.write(out, layout(rows, baseline, published, title), rows)


def layout(
    rows: pd.DataFrame, baseline: str, path: File | None = None, title: str = "Word or foil"
) -> Table:
    """Return a row per LM: overall, difference from the baseline, then by condition."""
    conditions = list(dict.fromkeys(rows.group[rows.level == "condition"]))
    header = ["", "Overall", "\N{MINUS SIGN} baseline", "Margin (bits)", "Perplexity", *conditions]
    grid = []
    for lm in order(rows):
        mine = rows[rows.lm == lm]
        overall = mine[mine.level == "overall"].iloc[0]
        cells = [
            overall.label,
            Cell(style.number(overall.accuracy), (style.interval(overall.low, overall.high),)),
        ]
        if lm in (READERS, baseline):
            cells.append("")
        else:
            gap = (style.interval(overall.difference_low, overall.difference_high, style.signed),)
            cells.append(Cell(style.signed(overall.difference), gap))
        blank = lm == READERS
        cells.append("" if blank else style.number(overall.margin_bits, 2))
        cells.append("" if blank else style.number(overall.perplexity, 0))
        accuracy = mine[mine.level == "condition"].set_index("group").accuracy
        cells += [style.number(accuracy.get(name, math.nan)) for name in conditions]
        grid.append(cells)
    words = int(rows.words[rows.level == "overall"].max())
    notes = [f"{words:,} words with a foil", *NOTES, with_perplexity(rows, path), *not_run(rows)]
    return Table(title, header, grid, notes, rules=(1,) if READERS in set(rows.lm) else ())


def summary(path: File) -> Table:
    """Return the overall column of this table's CSV, for the summary."""
    rows = comparison.table(path, COLUMNS)
    header = ["", "Words chosen (%)", "Perplexity"]
    overall = rows[rows.level == "overall"].set_index("lm")
    grid = [
        [row.label, style.number(row.accuracy), style.number(row.perplexity, 0, unknown="")]
        for row in (overall.loc[lm] for lm in order(rows))
    ]
    return Table("", header, grid, [with_perplexity(rows, None), *not_run(rows)])
