"""Nearest neighbours of words by embedding and by memory (Table 3.2 of the thesis)."""

import pandas as pd

from recency.figures import tables
from recency.figures.comparison import View
from recency.figures.paths import Files
from recency.figures.tables import Table

PRODUCTS = {
    "main": {
        "makes": {"out": ("table_nearest_words", "Nearest words")},
        "reads": ["neighbours"],
        "settings": ["lms", "title"],
        "published": "nearest_words",
    }
}
SPACES = {"U": "by U: cosine of embeddings", "C": "by C: Euclidean distance of memories"}


def layout(data: pd.DataFrame, title: str) -> Table:
    """Return a row per LM, space and word, with neighbours from left to right."""
    count = int(data["rank"].max())
    header = ["LM", "By", "Word", "Nearest words"]
    grid, rules = [], []
    for (label, space, word), group in data.groupby(["label", "space", "word"], sort=False):
        if grid and grid[-1][:2] != [label, space]:
            rules.append(len(grid))
        listed = ", ".join(group.sort_values("rank").neighbour[:count])
        grid.append([label, space, word, listed])
    notes = [SPACES[space] for space in SPACES if (data.space == space).any()]
    return Table(f"{title}: nearest words", header, grid, notes, tuple(rules), left=4)


def main(view: View, neighbours: Files, out: Files) -> None:
    """Write the table to `out` (.csv, .html, .tex); `neighbours` are score's files, one per LM.

    Published neighbours are rows of their own, last.
    """
    read = [pd.read_csv(path, keep_default_na=False) for path in neighbours]
    data = pd.concat(read, ignore_index=True)
    data.insert(1, "label", data.lm.map(view.labels))
    if view.published:
        printed = pd.read_csv(view.published, keep_default_na=False).assign(label="published")
        data = pd.concat([data, printed], ignore_index=True)
    tables.write(out, layout(data, view.title), data)
