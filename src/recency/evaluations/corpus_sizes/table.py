"""Sizes of a corpus's parts, and shares of unknown words by the minimum frequency of known ones."""

from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from recency.figures import tables
from recency.figures.comparison import View
from recency.figures.paths import File, Files
from recency.figures.tables import Cell, Table

PRODUCTS = {
    "main": {
        "makes": {"out": ("table_corpus_sizes", "Table of corpus sizes")},
        "reads": ["texts"],
        "settings": ["sizes", "title"],
        "published": "corpus_sizes",
    }
}
COLUMNS = ["part", "corpus", "tokens", "words", "types", "minimum", "unknown_percent"]
COLUMNS += ["published_tokens", "published_percent", "nearest"]


def count_words(documents: Iterable[str]) -> tuple[Counter[str], int]:
    """Return the number of each word of a text, and the number of its documents."""
    counts, number = Counter(), 0
    for document in documents:
        counts.update(document.split())
        number += 1
    return counts, number


def count_unknown_words(
    parts: Mapping[str, tuple[Counter[str], int]], unknown: str | None, cutoffs: int
) -> pd.DataFrame:
    """Return COLUMNS without published values, a row per part and minimum frequency of known words.

    `parts` map a part to its `count_words`; the first is the training text. Tokens include the end
    of each document, which is always known.
    """
    trained = next(iter(parts.values()))[0]
    rows = []
    for minimum in range(1, cutoffs + 1):
        known = {word for word, count in trained.items() if count >= minimum} - {unknown}
        for part, (counts, documents) in parts.items():
            words = counts.total()
            tokens = words + documents
            missing = words - sum(count for word, count in counts.items() if word in known)
            row = {"part": part, "tokens": tokens, "words": words, "types": len(counts)}
            rows.append(row | {"minimum": minimum, "unknown_percent": 100 * missing / tokens})
    return pd.DataFrame(rows).reindex(columns=COLUMNS)


def with_published(rows: pd.DataFrame, path: File) -> pd.DataFrame:
    """Add published values by part, and mark the minimum whose shares are nearest to the published.

    Nearest is the smallest sum of absolute differences over the parts.
    """
    values = pd.read_csv(path).set_index("part")
    rows["published_tokens"] = rows.part.map(values.tokens)
    if "oov_percent" in values:
        rows["published_percent"] = rows.part.map(values.oov_percent)
        apart = (rows.unknown_percent - rows.published_percent).abs().groupby(rows.minimum).sum()
        rows["nearest"] = rows.minimum == apart.idxmin()
    return rows


def layout(rows: pd.DataFrame, title: str) -> Table:
    """Return a column per part: tokens, then unknown words by the minimum frequency of known ones."""
    first = rows[rows.minimum == 1].set_index("part")
    grid = [
        ["tokens", *(_cell(f"{row.tokens:,}", row.published_tokens) for row in first.itertuples())]
    ]
    grid.append(["types", *(f"{types:,}" for types in first.types)])
    published = first.published_percent
    if published.notna().any():
        grid.append(["unknown (%), published", *(f"{value:.2f}" for value in published)])
    for minimum, of in rows.groupby("minimum"):
        name = "unknown (%)" if minimum == 1 else f"… known from a frequency of {minimum} on"
        nearest = bool(of.nearest.eq(True).all())
        cells = [Cell(f"{value:.2f}", bold=nearest) for value in of.unknown_percent]
        grid.append([name, *cells])
    notes = ["tokens: words and the ends of documents", "types: different words of the part"]
    if rows.nearest.notna().any():
        notes.append("bold: nearest to the published shares, by the sum of absolute differences")
    return Table(f"{title}: corpus sizes", ["", *first.index], grid, notes, (2,))


def _cell(text: str, published: float) -> Cell:
    return Cell(text, () if np.isnan(published) else (f"published {published:,.0f}",))


def main(view: View, texts: Files, out: Files, sizes: Mapping) -> None:
    """Write the table to `out` (.csv, .html, .tex); `texts` are the parts', in their order."""
    read = {
        part: count_words(pd.read_parquet(path, columns=["text"])["text"])
        for part, path in zip(sizes["parts"], texts, strict=True)
    }
    rows = count_unknown_words(read, sizes["unknown"], sizes["cutoffs"])
    rows["corpus"] = rows.part.map(sizes["parts"])
    rows = with_published(rows, view.published) if view.published else rows
    tables.write(out, layout(rows, view.title), rows)
