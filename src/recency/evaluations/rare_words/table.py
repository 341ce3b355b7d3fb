"""Agreement of SWordSS vectors of rare words with human ratings (thesis, Tables 5.3 and 5.4)."""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from recency.figures import tables
from recency.figures.comparison import Described, View
from recency.figures.paths import File, Files
from recency.figures.tables import Cell, Row, Table
from recency.networks.string_similarity import SIMILARITIES

PRODUCTS = {
    "main": {
        "makes": {"out": ("table_rare_words", "Vectors of rare words and human ratings")},
        "reads": ["scores"],
        "settings": ["lms", "sets", "title"],
        "published": "rare_words",
    }
}
BEST = "best"
NAMES = ["without", *SIMILARITIES, BEST]
COLUMNS = ["set", "label", "similarity", "spearman", "published", "pairs", "known_pairs"]
COLUMNS += ["spearman_known", "made_words", "left_out", "not_run"]
NOTES = [
    (
        "Spearman's ρ × 100 of the cosine of two words' vectors with the human rating; a pair with a word "
        "without a vector has cosine 0"
    ),
    (
        "without: no SWordSS; ji Jaccard of characters, jaro, jw Jaro-Winkler, mfk most frequent characters, "
        "ssk subsequence kernel, tc Tversky of trigrams, 1 equal weights; best: the highest of the others"
    ),
]


def collect_correlations(scores: Files, labels: Iterable[str], sets: Described) -> pd.DataFrame:
    """Return COLUMNS of every set of pairs, LMs first, then vectors, including missing ones.

    `scores` are files of the LMs in `labels`, then of the existing vectors, set by set.
    """
    paths, parts = iter(scores), []
    for word_set in sets:
        if word_set["not_run"]:
            parts.append(pd.DataFrame({"set": [word_set["label"]], "not_run": word_set["not_run"]}))
            continue
        here = [v["label"] for v in word_set["vectors"] if v["here"]]
        for label in [*labels, *here]:
            set_scores = _with_best(pd.read_csv(next(paths), dtype={"similarity": str}))
            parts.append(set_scores.assign(set=word_set["label"], label=label))
        for v in (v for v in word_set["vectors"] if not v["here"]):
            absent = {"set": word_set["label"], "label": v["label"], "not_run": v["supplied"]}
            parts.append(pd.DataFrame({"similarity": NAMES, **absent}))
    return pd.concat(parts, ignore_index=True).reindex(columns=COLUMNS)


def _with_best(scores: pd.DataFrame) -> pd.DataFrame:
    """Add a row with the highest ρ of the string similarities, as the thesis's Table 5.4 has it."""
    similar = scores[~scores.similarity.isin(["without", "1"])]
    highest = similar.nlargest(1, "spearman").assign(similarity=BEST)
    return pd.concat([scores, highest], ignore_index=True)


def with_published(data: pd.DataFrame, path: File) -> pd.DataFrame:
    """Add published values for vectors with these labels and sets of pairs."""
    values = pd.read_csv(path, dtype={"similarity": str})
    values = values.set_index(["pairs", "label", "similarity"]).spearman
    keys = pd.MultiIndex.from_frame(data[["set", "label", "similarity"]])
    data = data.assign(published=values.reindex(keys).to_numpy())
    elsewhere = values[~values.index.isin(keys)].rename("published").reset_index()
    elsewhere = elsewhere[elsewhere.pairs.isin(data["set"])].rename(columns={"pairs": "set"})
    return pd.concat([data, elsewhere], ignore_index=True).reindex(columns=COLUMNS)


def layout(data: pd.DataFrame, title: str) -> Table:
    """Return a row per LM or vector file and a column per similarity, set by set."""
    header = ["Vectors", "Words made", *NAMES]
    grid, rules, notes = [], [], list(NOTES)
    elsewhere = data[~data.similarity.isin(NAMES) & data.published.notna()]
    notes += [
        f"{row.set}, published, {row.label} {row.similarity}: {row.published:g}"
        for row in elsewhere.itertuples()
    ]
    data = data.drop(elsewhere.index)
    for name, rows in data.groupby("set", sort=False):
        for label, (left_out,) in rows.groupby("label", sort=False)[["left_out"]].max().iterrows():
            if left_out > 0:
                notes.append(
                    f"{name}, {label}: {left_out:,.0f} pairs of a word without similarly spelled words "
                    "are left out"
                )
        rules.append(len(grid))
        grid.append([Cell(name, left=True, bold=True, span=len(header))])
        for label, lm_rows in rows.dropna(subset="label").groupby("label", sort=False):
            grid.append(_row(label, lm_rows.set_index("similarity")))
        by_lm = rows.dropna(subset="pairs").groupby("label", sort=False).first()
        for (have, pairs), alike in by_lm.groupby(["known_pairs", "pairs"], sort=False):
            whose = ", ".join(alike.index)
            notes.append(
                f"{name}, {whose}: both words of {have:,.0f} of {pairs:,.0f} pairs have a vector"
            )
        notes += [f"{name}, not run: {why}" for why in dict.fromkeys(rows["not_run"].dropna())]
    return Table(f"{title}: vectors of words", header, grid, notes, tuple(rules))


def _row(label: str, scores: pd.DataFrame) -> Row:
    """Return the row of an LM's ρ by similarity, with published values beneath."""
    counts = scores.made_words.dropna()
    cells = [label, (f"{counts.max():,.0f}" if len(counts) else "not run")]
    for name in NAMES:
        value, published = scores.spearman.get(name, np.nan), scores.published.get(name, np.nan)
        below = () if np.isnan(published) else (f"published {published:g}",)
        cells.append(Cell("–" if np.isnan(value) else f"{100 * value:.1f}", below))
    return cells


def main(view: View, scores: Files, out: Files, sets: Described) -> None:
    """Write the table to `out` (.csv, .html, .tex); `scores` as in `collected`."""
    data = collect_correlations(scores, [lm.label for lm in view.lms], sets)
    data = with_published(data, view.published) if view.published else data
    tables.write(out, layout(data, view.title), data)
