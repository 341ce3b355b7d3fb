"""Classification of microposts across domains: published values, not run here (Tables 6.10 to 6.12)."""

import pandas as pd

from recency.figures import comparison, style, tables
from recency.figures.paths import File, Files
from recency.figures.tables import Table

PRODUCT = {
    "makes": {"out": ("table_abusive_cross_domain", "Microposts across domains (not run)")},
    "reads": [],
    "settings": ["title"],
    "published": "abusive_cross_domain",
}
COLUMNS = ["table", "test", "train", "classifier", "f1"]
NOTES = [
    (
        "not run: the microposts are not available, and this project has no reader for them (Warner & Hirschberg 2012, "
        "3,438, from the authors; Waseem et al. 2017, 16,165, ids of tweets; Razavi et al. 2010, 1,525, from the authors; "
        "Wulczyn et al. 2017, 115,643, Wikipedia's talk pages)"
    ),
    "all values are from the thesis: F1 in percent, for training on one corpus and testing on another",
]


def main(*, out: Files, title: str, published: File | None = None) -> None:
    """Write the published values to `out` (.csv, .html, .tex), marked as not run here."""
    data = pd.DataFrame(columns=COLUMNS)
    if published is not None:
        data = comparison.table(published, COLUMNS)
    grid = [
        [row.table, row.test, row.train, row.classifier, "not run", style.number(row.f1, 2)]
        for row in data.itertuples()
    ]
    header = ["Table", "Test", "Training", "Classifier", "Here", "Published F1"]
    if not grid:
        header, grid = header[:5], [["Tables 6.10 to 6.12", "", "", "", "not run"]]
    tables.write(out, Table(f"{title}: microposts", header, grid, NOTES, left=4), data)
