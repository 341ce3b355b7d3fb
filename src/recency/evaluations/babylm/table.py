"""The BabyLM challenge's scores of each LM, laid out as on its leaderboard (table_babylm)."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from recency.evaluations.babylm import parts, results
from recency.figures import comparison, tables
from recency.figures.comparison import Described
from recency.figures.paths import Files
from recency.figures.tables import Table

PRODUCTS = {
    "main": {
        "makes": {"out": ("table_babylm", "The BabyLM challenge's evaluations")},
        "reads": ["scores", "reading", "words", "children"],
        "settings": ["lms", "title", "stages", "missing"],
    }
}
COLUMNS = ["lm", "label", "part", "group", "score", "items", "ties"]
#: Columns of the table: part and group → header.
HEADER = {(name, "overall"): part.label for name, part in parts.PARTS.items() if part.item}
HEADER |= {
    ("reading", "self-paced reading"): "Reading, SPR",
    ("reading", "eye tracking"): "Reading, ET",
}
HEADER |= {("aoa", "overall"): "AoA"}


def layout(data: pd.DataFrame, title: str, missing: Sequence[str]) -> Table:
    """Return a table with a row per LM and a column per part."""
    values = data.set_index(["label", "part", "group"]).score
    grid = [
        [label, *(_shown(values.get((label, *key), np.nan), key[0]) for key in HEADER)]
        for label in data.label.drop_duplicates()
    ]
    notes = []
    if missing:
        listed = ", ".join(parts.PARTS[name].label for name in missing)
        notes.append(f"Not run, because files or training stages are missing: {listed}.")
    return Table(f"{title}: the BabyLM challenge", ["LM", *HEADER.values()], grid, notes)


def _shown(value: float, part: str) -> str:
    return "–" if np.isnan(value) else f"{value:.2f}"


def main(
    *,
    scores: Files,
    reading: Files,
    words: Files,
    children: Files,
    out: Files,
    lms: Described,
    title: str,
    stages: Mapping[str, Mapping[str, float]],
    missing: Sequence[str],
) -> None:
    """Write the table to `out` (.csv, .html, .tex); the CSV has every subset."""
    models, _ = comparison.records(lms, [])
    read_words = {}
    if words:
        names = dict.fromkeys(name for of_lm in stages.values() for name in of_lm)
        kept = {"keep_default_na": False, "dtype": {"word": str, "context": str}}
        read_words = {n: pd.read_csv(p, **kept) for n, p in zip(names, words, strict=True)}
    frames = []
    for lm, path in zip(models, scores, strict=True):
        lm_scores = results.scores(pd.read_parquet(path), next(iter(reading), None))
        if read_words and lm.lm in stages:
            curves = {read: read_words[stage] for stage, read in stages[lm.lm].items()}
            value, count = results.acquisition(curves, children[0])
            lm_scores.loc[len(lm_scores)] = ["aoa", "overall", value, count, 0]
        frames.append(lm_scores.assign(lm=lm.lm, label=lm.label))
    data = pd.concat(frames, ignore_index=True)[COLUMNS]
    tables.write(out, layout(data, title, missing), data)
