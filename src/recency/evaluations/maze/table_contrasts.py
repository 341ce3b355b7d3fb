"""Contrasts between words, in readers' times and each LM's surprisal: paired t over items."""

import math

import pandas as pd

from crosslmm.stats.correlations import correlation
from recency.evaluations.contrasts.paired import COLUMNS as PAIRED
from recency.evaluations.contrasts.paired import LEVEL
from recency.evaluations.contrasts.stars import mark
from recency.evaluations.maze.choices import COLUMNS as CHOICES
from recency.evaluations.maze.choices import READERS
from recency.evaluations.maze.table import not_run
from recency.evaluations.maze.table import published as as_published
from recency.figures import comparison, style, tables
from recency.figures.comparison import Described
from recency.figures.paths import File, Files
from recency.figures.tables import Cell, Table

PRODUCT = {
    "makes": {"out": ("table_maze_contrasts", "Contrasts in the maze")},
    "reads": ["contrasts=maze_contrasts", "maze"],
    "settings": ["lms", "title"],
    "published": "maze",
    "when": "contrasts",
}

#: A row of data/published/thesis_chapter11.csv.
OF_PASSED = "pearson of tests passed and perplexity"
NOTE = (
    "high minus low: readers in log ms (after subtracting each reader's mean), LMs in bits; t is paired over items, "
    f"p two-sided, uncorrected; bold (passed): p < {LEVEL} with high above low. X wrong "
    "direction, . p < 0.1, * < 0.05, ** < 0.01, *** < 0.001"
)


def main(
    *,
    contrasts: File,
    maze: File,
    out: Files,
    lms: Described,
    published: File | None = None,
    title: str = "Contrasts",
) -> None:
    """Write the table to `out` (.csv tidy, .html, .tex): a row per contrast, a column per LM."""
    rows = comparison.table(contrasts, [*PAIRED, "label"])
    choices = comparison.table(maze, CHOICES)
    rows["mark"] = [mark(row.t, row.p) for row in rows.itertuples()]
    names = [lm["lm"] for lm in lms]
    shown = [lm for lm in (READERS, *names) if lm in set(rows.lm)]
    tables.write(out, layout(rows, choices, shown, published, title), rows)


def layout(
    rows: pd.DataFrame, choices: pd.DataFrame, shown: list[str], path: File | None, title: str
) -> Table:
    """Return a row per contrast, and the number that each LM passes."""
    labels = rows.drop_duplicates("lm").set_index("lm").label
    header = ["", "Items", *(labels[lm] for lm in shown)]
    grid = []
    for _, mine in rows.groupby("contrast", sort=False):
        by_lm = mine.set_index("lm")
        cells = [mine.contrast_label.iloc[0], str(mine["items"].max())]
        for lm in shown:
            row = by_lm.loc[lm]
            size = f"{style.signed(row.difference, 2)} {row['mark']}".strip()
            note = (
                ""
                if math.isnan(row.t)
                else f"t = {style.number(row.t, 2)}, p {style.p_value(row.p)}"
            )
            cells.append(Cell(size, (note,), bold=bool(row.passed)))
        grid.append(cells)
    passed = rows.groupby("lm").passed.sum()
    grid.append(["passed", "", *(str(passed[lm]) for lm in shown)])
    notes = [NOTE, with_perplexity(passed, choices, path), *not_run(choices)]
    return Table(title, header, grid, notes, rules=(len(grid) - 1,))


def with_perplexity(passed: pd.Series, choices: pd.DataFrame, path: File | None) -> str:
    """Return a note on the correlation of contrasts passed and perplexity over LMs."""
    perplexity = choices[choices.level == "overall"].set_index("lm").perplexity
    lms = [lm for lm in passed.index if lm != READERS]
    r = correlation(passed[lms], perplexity.reindex(lms), ranks=False)
    published_note = as_published(path, OF_PASSED)
    published_note = f"{published_note}, of 19 contrasts in German" if published_note else ""
    if math.isnan(r.value):
        return f"contrasts passed and perplexity: too few LMs, or all equal, for a correlation{published_note}"
    return (
        f"Pearson's r of contrasts passed and perplexity over {r.n} LMs: "
        f"{style.number(r.value, 2)} (p {style.p_value(r.p)}){published_note}"
    )
