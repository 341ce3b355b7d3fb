"""Perplexity on a test text, alone and interpolated, with published values and the seeds' spread."""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from recency.evaluations.text_perplexity import scored
from recency.evaluations.text_perplexity.scored import Scored
from recency.figures import style, tables
from recency.figures.comparison import Described
from recency.figures.paths import File, Files
from recency.figures.tables import Cell, Table

PRODUCT = {
    "makes": {"out": ("table_perplexity", "Table of perplexity on the test text")},
    "reads": ["scores"],
    "settings": ["variants=every_variant", "interpolated_with", "title"],
    "published": "perplexity",
    "summary": ("table_perplexity.csv", "{title}: perplexity on the test text"),
}

COLUMNS = ["lm", "label", "seeds", "words", "parameters", "validation_ppl", "test_ppl", "test_sd"]
COLUMNS += ["words_per_second", "weight", "interpolated_ppl", "interpolated_sd"]
COLUMNS += ["published_ppl", "published_interpolated_ppl"]
NOTES = [
    "Perplexity counts every word and the end of every sentence",
    "Parameters: for an n-gram model, the number of n-grams",
    "Words/s: speed of scoring the test text; for n-grams, including loading of the model",
]
SEEDS = "±: standard deviation of seeds, if an LM has several; the value is their geometric mean"


def computed(lms: Iterable[Scored]) -> pd.DataFrame:
    """Return a row of COLUMNS per LM, without published values."""
    rows = [
        {
            "lm": scored_lm.lm.lm, "label": scored_lm.lm.label, "seeds": len(scored_lm.seeds),
            "words": len(scored_lm.seeds[0].test), "parameters": scored_lm.seeds[0].parameters,
            "validation_ppl": scored_lm.ppl("validation"), "test_ppl": scored_lm.ppl("test"),
            "test_sd": scored_lm.sd("test"), "weight": scored_lm.mean(lambda seed: seed.weight),
            "words_per_second": scored_lm.mean(lambda seed: seed.words_per_second),
            "interpolated_ppl": scored_lm.ppl("interpolated"),
            "interpolated_sd": scored_lm.sd("interpolated"),
        }
        for scored_lm in lms
    ]  # fmt: skip
    return pd.DataFrame(rows).reindex(columns=COLUMNS)


def with_published(rows: pd.DataFrame, path: File) -> pd.DataFrame:
    """Add published values for LMs with the same labels."""
    values = pd.read_csv(path).drop_duplicates("label").set_index("label")
    rows["published_ppl"] = rows.label.map(values.ppl)
    rows["published_interpolated_ppl"] = rows.label.map(values.ppl_interpolated)
    return rows


def layout(title: str, rows: pd.DataFrame, other: str | None) -> Table:
    """Return a row per LM, with the spread of its seeds and published values beneath."""
    names = dict(zip(rows.lm, rows.label))
    header = ["LM", "Parameters", "Words/s", "Validation", "Test"]
    header += [f"with {names[other]}", "Weight"] if other else []
    grid = []
    for row in rows.itertuples():
        cells = [
            row.label,
            f"{row.parameters / 1e6:.1f} M",
            "–" if np.isnan(row.words_per_second) else f"{row.words_per_second:,.0f}",
            f"{row.validation_ppl:.1f}",
            _cell(row.test_ppl, row.test_sd, row.seeds, row.published_ppl),
        ]
        if other:
            spread = (row.interpolated_sd, row.seeds)
            cells.append(_cell(row.interpolated_ppl, *spread, row.published_interpolated_ppl))
            cells.append("–" if np.isnan(row.weight) else f"{row.weight:.2f}")
        grid.append(cells)
    notes = [f"Test text: {rows.words.iloc[0]:,} words with the ends of sentences", *NOTES]
    if other:
        notes.append("Weight: the LM's interpolation weight, by EM on the validation text")
    if rows.seeds.max() > 1:
        notes.append(SEEDS)
    return Table(f"{title}: perplexity", header, grid, notes)


def _cell(value: float, sd: float, seeds: int, published: float) -> Cell:
    """Return a value, with the spread of its seeds and the published value beneath."""
    below = () if np.isnan(sd) else (f"± {sd:.1f}, {seeds} seeds",)
    below += () if np.isnan(published) else (f"published {published:g}",)
    return Cell("–" if np.isnan(value) else f"{value:.1f}", below)


def summary(path: File) -> Table:
    """Return perplexity on the test text by LM, from this table's CSV, for the summary."""
    rows = pd.read_csv(path)
    grid = [
        [
            row.label,
            _with_sd(row.test_ppl, row.test_sd),
            _with_sd(row.interpolated_ppl, row.interpolated_sd),
        ]
        for row in rows.itertuples()
    ]
    return Table("", ["LM", "Test", "Interpolated"], grid, [])


def _with_sd(value: float, sd: float) -> str:
    return style.number(value) + ("" if np.isnan(sd) else f" ± {sd:.1f}")


def main(
    *,
    scores: Files,
    out: Files,
    variants: Described,
    interpolated_with: str | None,
    title: str,
    published: File | None = None,
) -> None:
    """Write the table to `out` (.csv, .html, .tex); `scores` are score's files, two per variant."""
    rows = computed(scored.read(scores, variants, interpolated_with))
    rows = with_published(rows, published) if published else rows
    tables.write(out, layout(title, rows, interpolated_with), rows)
