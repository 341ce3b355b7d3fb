"""How made vectors of rare words agree with people's ratings (Tables 5.3 and 5.4 of the thesis)."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from recency.evaluations.rare_words.similarity import SIMILARITIES
from recency.figures import comparison, tables
from recency.figures.tables import Cell, Table

PRODUCT = {
    "makes": {"out": ("table_rare_words", "Vectors of rare words against people's ratings")},
    "reads": ["scores"],
    "settings": ["lms", "vectors", "pairs"],
    "published": "rare_words",
}
NAMES = ["without", *SIMILARITIES]
NOTES = [
    "Spearman's ρ × 100 of the cosine of two words' vectors with people's rating; a pair with a word "
    + "that has no vector has cosine 0",
    "without: words as they are; ji Jaccard of characters, jaro, jw Jaro-Winkler, mfk most frequent characters, "
    + "ssk subsequence kernel, tc Tversky of trigrams, 1 all neighbours alike",
]


def with_published(data: pd.DataFrame, path: str | Path, pairs: str) -> pd.DataFrame:
    """Fill in what was published of vectors of these labels over these pairs."""
    values = pd.read_csv(path, dtype={"similarity": str})
    values = values[values["pairs"] == pairs].set_index(["label", "similarity"]).spearman
    keys = pd.MultiIndex.from_frame(data[["label", "similarity"]])
    return data.assign(published=values.reindex(keys).to_numpy())


def layout(data: pd.DataFrame, pairs: str) -> Table:
    """Set a row for each LM or file of vectors, a column for each similarity."""
    header = [Cell("Vectors", left=True), Cell("Words made"), *(Cell(name) for name in NAMES)]
    grid = []
    for label, own in data.groupby("label", sort=False):
        own = own.set_index("similarity")
        numbers = own.made_words.dropna()
        cells = [
            Cell(label, left=True),
            Cell(f"{numbers.max():,.0f}" if len(numbers) else "not run"),
        ]
        for name in NAMES:
            value, published = own.spearman.get(name, np.nan), own.published.get(name, np.nan)
            below = () if np.isnan(published) else (f"published {published:g}",)
            cells.append(Cell("–" if np.isnan(value) else f"{100 * value:.1f}", below))
        grid.append(cells)
    known = data.dropna(subset=["pairs"]).groupby("label", sort=False).first()
    counts = [
        f"{label}: both words of {row.known_pairs:,.0f} of {row.pairs:,.0f} pairs have a vector"
        for label, row in known.iterrows()
    ]
    absent = list(dict.fromkeys(data["not_run"].dropna()))
    notes = [*NOTES, *counts, *(f"not run: {each}" for each in absent)]
    return Table(f"{pairs}: vectors of rare words", [header], grid, notes)


def main(
    *,
    scores: Iterable[str | Path],
    out: Iterable[str | Path],
    lms: Iterable[Mapping],
    vectors: Iterable[Mapping],
    pairs: str,
    published: str | Path | None = None,
) -> None:
    """Write the table to `out` (.csv, .html, .tex); `scores` are of the LMs, then of the vectors here."""
    models, _ = comparison.records(lms, [])
    vectors = list(vectors)
    labels = [lm.label for lm in models] + [each["label"] for each in vectors if each["here"]]
    read = [
        pd.read_csv(path, dtype={"similarity": str}).assign(label=label)
        for label, path in zip(labels, scores, strict=True)
    ]
    read += [
        pd.DataFrame({"similarity": NAMES, "label": each["label"], "not_run": each["placed"]})
        for each in vectors
        if not each["here"]
    ]
    columns = ["label", "similarity", "spearman", "pairs", "known_pairs", "spearman_known"]
    data = pd.concat(read, ignore_index=True).reindex(columns=[*columns, "made_words", "not_run"])
    data["published"] = np.nan
    data = with_published(data, published, pairs) if published else data
    tables.write(out, layout(data, pairs), data)
