"""Numbers of dependencies by reading of the trees, compared with the paper's counts."""

import pandas as pd

from recency.evaluations.dependencies.figure import NAMES
from recency.figures import comparison, style, tables
from recency.figures.paths import File, Files
from recency.figures.tables import Cell, Table

PRODUCT = {
    "makes": {"out": ("table_dependencies", "Dependencies")},
    "reads": ["counts"],
    "published": "dependencies",
}

NOTES = [
    "dependencies whose head follows its dependent; bold: the reading in use",
    "between tokens of the trees; between words, excluding those inside a word (a possessive 's)",
    "graph: referents and their predicates; categories: the fillers of slots of categories",
    "antecedents: with antecedents of relative pronouns",
    "raising: with the subjects of predicates under auxiliaries and raising verbs",
]


def layout(rows: pd.DataFrame, published: pd.Series, source: str) -> Table:
    """Return one row per reading, and the paper's counts."""
    header = [
        ["", *(Cell(text, span=2) for text in NAMES.values())],
        [Cell("Reading", left=True), *["tokens", "words"] * len(NAMES)],
    ]
    grid = []
    for reading, counts in rows.groupby("reading", sort=False):
        value = counts.set_index("type")
        chosen = bool(counts.chosen.any())
        row = [Cell(reading, left=True, bold=chosen)]
        for kind in NAMES:
            for unit in ("tokens", "words"):
                count = int(value.loc[kind, unit])
                below = (style.signed(count - published[kind], 0),) if kind in published else ()
                row.append(Cell(f"{count:,}", below=below, bold=chosen))
        grid.append(row)
    notes = list(NOTES)
    if len(published):
        paper = [Cell(f"{int(published[k]):,}" if k in published else "–", span=2) for k in NAMES]
        grid.append(["published", *paper])
        notes.append(f"published: {source}; below each count: its difference from that")
    rules = (len(grid) - 1,) if len(published) else ()
    return Table("Dependencies", header, grid, notes, rules)


def main(
    *,
    counts: File,
    out: Files,
    published: File | None = None,
    source: str = "Clark et al. (2025), section 7.1",
) -> None:
    """Write the table to `out` (.csv tidy, .html, .tex)."""
    rows = comparison.table(counts, ["reading", "type", "tokens", "words", "chosen"])
    there = pd.Series(dtype=float)
    if published is not None:
        there = comparison.table(published, ["dependency", "count"]).set_index("dependency")[
            "count"
        ]
    data = rows.assign(published=rows.type.map(there).astype("Int64"))
    tables.write(out, layout(rows, there, source), data)
