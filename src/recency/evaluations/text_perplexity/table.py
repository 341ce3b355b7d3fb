"""Perplexity on a test text, alone and interpolated, beside the published."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from recency.errors import InputError
from recency.figures import comparison, tables
from recency.figures.comparison import LM
from recency.figures.tables import Cell, Table
from recency.scoring.interpolation import best_shares, mixed

PRODUCT = {
    "makes": {"out": ("table_perplexity", "Table of perplexity on the test text")},
    "reads": ["scores"],
    "settings": ["lms=every_lm", "interpolated_with", "title"],
    "published": "perplexity",
    "summary": ("table_perplexity.csv", "{title}: perplexity on the test text"),
}

COLUMNS = ["lm", "label", "words", "parameters", "validation_ppl", "test_ppl"]
COLUMNS += ["words_per_second"]
COLUMNS += ["weight", "interpolated_ppl", "published_ppl", "published_interpolated_ppl"]
NOTES = [
    "Perplexity counts every word and the end of every sentence",
    "Parameters: of an n-gram model, the n-grams that it lists",
    "Words/s: in scoring the test text here, of n-grams with the reading of the model",
]


def perplexity(nats: np.ndarray) -> float:
    """Return exp of the mean."""
    return float(np.exp(nats.mean()))


def computed(
    scores: list[tuple[pd.DataFrame, pd.DataFrame]], lms: list[LM], other: str | None
) -> pd.DataFrame:
    """Return a row of COLUMNS for each LM of its (validation, test) scores, nothing published yet."""
    of, rows = dict(zip([lm.lm for lm in lms], scores, strict=True)), []
    for lm in lms:
        validation, test = (part.nats.to_numpy() for part in of[lm.lm])
        row = {"lm": lm.lm, "label": lm.label, "words": len(test)}
        row["parameters"] = int(of[lm.lm][0].parameters.iloc[0])
        row["words_per_second"] = float(of[lm.lm][1].words_per_second.iloc[0])
        row |= {"validation_ppl": perplexity(validation), "test_ppl": perplexity(test)}
        if other is not None and lm.lm != other:
            with_validation, with_test = (part.nats.to_numpy() for part in of[other])
            if (len(with_validation), len(with_test)) != (len(validation), len(test)):
                raise InputError(
                    f"{lm.lm} scored {len(test):,} words of the test text, {other} {len(with_test):,}: "
                    "LMs are interpolated word by word, and need the same words"
                )
            shares = best_shares(np.array([validation, with_validation]))
            together = mixed(np.array([test, with_test]), shares)
            row |= {"weight": shares[0], "interpolated_ppl": perplexity(together)}
        rows.append(row)
    return pd.DataFrame(rows).reindex(columns=COLUMNS)


def with_published(rows: pd.DataFrame, path: str | Path) -> pd.DataFrame:
    """Fill in what was published of LMs of the same labels."""
    values = pd.read_csv(path).drop_duplicates("label").set_index("label")
    rows["published_ppl"] = rows.label.map(values.ppl)
    rows["published_interpolated_ppl"] = rows.label.map(values.ppl_interpolated)
    return rows


def layout(title: str, rows: pd.DataFrame, other: str | None) -> Table:
    """Set a row for each LM, the published values beneath its own."""
    names = dict(zip(rows.lm, rows.label))
    header = ["LM", "Parameters", "Words/s", "Validation", "Test"]
    header += [f"with {names[other]}", "Weight"] if other else []
    grid = []
    for row in rows.itertuples():
        cells = [
            Cell(row.label, left=True),
            Cell(f"{row.parameters / 1e6:.1f} M"),
            Cell("–" if np.isnan(row.words_per_second) else f"{row.words_per_second:,.0f}"),
            Cell(f"{row.validation_ppl:.1f}"),
            _beside(row.test_ppl, row.published_ppl),
        ]
        if other:
            cells.append(_beside(row.interpolated_ppl, row.published_interpolated_ppl))
            cells.append(Cell("–" if np.isnan(row.weight) else f"{row.weight:.2f}"))
        grid.append(cells)
    notes = [f"Test text: {rows.words.iloc[0]:,} words with the ends of sentences", *NOTES]
    if other:
        notes.append("Weight: of the LM in the interpolation, by EM on the validation text")
    return Table(f"{title}: perplexity", [[Cell(each) for each in header]], grid, notes)


def _beside(value: float, published: float) -> Cell:
    """Set a value with the published one beneath."""
    below = () if np.isnan(published) else (f"published {published:g}",)
    return Cell("–" if np.isnan(value) else f"{value:.1f}", below)


def summary(path: str | Path) -> list[str]:
    """Return the summary's lines of table_perplexity.csv."""
    rows = pd.read_csv(path)
    width = max(map(len, rows.label))
    return [
        f"  {row.label:{width}}  {row.test_ppl:8.1f}"
        + ("" if np.isnan(row.interpolated_ppl) else f"  interpolated {row.interpolated_ppl:.1f}")
        for row in rows.itertuples()
    ]


def main(
    *,
    scores: Iterable[str | Path],
    out: Iterable[str | Path],
    lms: Iterable[Mapping],
    interpolated_with: str | None,
    title: str,
    published: str | Path | None = None,
) -> None:
    """Write the table to `out` (.csv, .html, .tex); `scores` are score's files, two an LM."""
    models, _ = comparison.records(lms, [])
    read = [pd.read_parquet(path) for path in scores]
    rows = computed(list(zip(read[::2], read[1::2])), models, interpolated_with)
    rows = with_published(rows, published) if published else rows
    tables.write(out, layout(title, rows, interpolated_with), rows)
