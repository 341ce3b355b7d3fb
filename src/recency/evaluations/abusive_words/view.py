"""Cross-validated precision, recall and F1 by set of features, next to Tables 6.7 and 6.8, thesis.

Classification of microposts across domains: published values, not run here (Tables 6.10 to 6.12).

The lexicon expanded by the best feature set, compared with the published one (Table 6.9).
"""

import pandas as pd

from recency.evaluations.abusive_words import lexicon
from recency.figures import comparison, style, tables
from recency.figures.comparison import Described, View
from recency.figures.paths import File, Files
from recency.figures.tables import Cell, Table

PRODUCTS = {
    "table_abusive_words": {
        "makes": {"out": ("table_abusive_words", "Abusive words by sets of features")},
        "reads": ["scores=abusive_words"],
        "settings": ["lms", "resources", "folds", "title"],
        "published": "abusive_words",
        "summary": ("table_abusive_words.csv", "{title}: abusive words by sets of features"),
    },
    "table_abusive_cross_domain": {
        "makes": {"out": ("table_abusive_cross_domain", "Microposts across domains (not run)")},
        "reads": [],
        "settings": ["title"],
        "published": "abusive_cross_domain",
    },
    "table_abusive_expansion": {
        "makes": {"out": ("table_abusive_expansion", "The expanded lexicon")},
        "reads": ["words", "agreement=abusive_words_agreement"],
        "settings": ["show_words", "title"],
    },
}


MEASURES = ["precision", "recall", "f1"]
COLUMNS = ["features", "label", "lm", "entries", "columns", *MEASURES, "f1_of_classes"]
COLUMNS += ["p_previous", "missing", "fold_f1"]
KNOWN = [f"published_{measure}" for measure in MEASURES]


def collect_scores(scores: File, labels: dict[str, str], published: File | None) -> pd.DataFrame:
    """Return COLUMNS and KNOWN: the feature sets of this study, then other published classifiers."""
    rows = comparison.table(scores, ["features", "lm", *MEASURES])
    rows["lm"] = rows["lm"].fillna("")
    rows["label"] = rows["lm"].map(labels).fillna("")
    if published is not None:
        published_scores = comparison.table(published, ["features", *MEASURES])
        published_scores = published_scores.rename(columns=dict(zip(MEASURES, KNOWN, strict=True)))
        rows = rows.merge(published_scores, on="features", how="outer", sort=False)
        order = [*dict.fromkeys(comparison.table(scores, ["features"])["features"])]
        rank = {name: index for index, name in enumerate(order)}
        rows = rows.sort_values(
            "features", key=lambda c: c.map(rank).fillna(len(rank)), kind="stable"
        )
    return rows.reindex(columns=[*COLUMNS, *KNOWN]).fillna({"lm": "", "label": ""})


def layout(data: pd.DataFrame, resources: Described, folds: int, title: str) -> Table:
    """Return a table with a row per feature set (and LM), the published values beneath."""
    header = ["Features", "LM", "Entries", "Precision", "Recall", "F1", "F1 of classes", "p"]
    grid = []
    for row in data.itertuples():
        cells = [row.features, row.label, style.number(row.entries, 0)]
        for measure in MEASURES:
            published_value = getattr(row, f"published_{measure}")
            below = () if pd.isna(published_value) else (f"published {published_value:.1f}",)
            value = getattr(row, measure)
            cells.append(Cell("not run" if pd.isna(value) else f"{value:.1f}", below))
        grid.append([*cells, style.number(row.f1_of_classes), style.p_value(row.p_previous)])
    notes = [
        "precision and recall: means over both classes, in percent; F1: their harmonic mean, as in the thesis",
        f"linear SVM, {folds} stratified folds; entries: entries of the base lexicon with a feature; the others have only zeros",
        "p: paired t over folds against the row above",
        "SWordSS: a missing vector is the average of orthographically similar words, otherwise zero",
    ]
    notes += [
        f"{file['name']} not run: {file['supplied']}" for file in resources if not file["here"]
    ]
    notes += ["MICR not run: the labelled microposts of Wulczyn et al. (2017) are not read"]
    return Table(f"{title}: sets of features", header, grid, notes, left=2)


def table_abusive_words(
    view: View, scores: File, out: Files, resources: Described, folds: int
) -> None:
    """Write the table to `out` (.csv, .html, .tex)."""
    data = collect_scores(scores, view.labels, view.published)
    tables.write(out, layout(data, resources, folds, view.title), data)


def summary(path: File) -> Table:
    """Return the feature sets, the best first, for the summary."""
    rows = comparison.table(path, ["features", "label", "f1"]).dropna(subset="f1")
    rows = rows.sort_values("f1", ascending=False).fillna({"label": ""})
    grid = [[row.features, row.label, style.number(row.f1)] for row in rows.itertuples()]
    return Table("", ["Features", "LM", "F1"], grid, [], left=2)


TABLE_CROSS_DOMAIN_COLUMNS = ["table", "test", "train", "classifier", "f1"]
NOTES = [
    (
        "not run: the microposts are not available, and this project has no reader for them (Warner & Hirschberg 2012, "
        "3,438, from the authors; Waseem et al. 2017, 16,165, ids of tweets; Razavi et al. 2010, 1,525, from the authors; "
        "Wulczyn et al. 2017, 115,643, Wikipedia's talk pages)"
    ),
    "all values are from the thesis: F1 in percent, for training on one corpus and testing on another",
]


def table_abusive_cross_domain(view: View, out: Files) -> None:
    """Write the published values to `out` (.csv, .html, .tex), marked as not run here."""
    data = view.published_rows(TABLE_CROSS_DOMAIN_COLUMNS)
    if data is None:
        data = pd.DataFrame(columns=TABLE_CROSS_DOMAIN_COLUMNS)
    grid = [
        [row.table, row.test, row.train, row.classifier, "not run", style.number(row.f1, 2)]
        for row in data.itertuples()
    ]
    header = ["Table", "Test", "Training", "Classifier", "Here", "Published F1"]
    if not grid:
        header, grid = header[:5], [["Tables 6.10 to 6.12", "", "", "", "not run"]]
    tables.write(out, Table(f"{view.title}: microposts", header, grid, NOTES, left=4), data)


SHOWN = 25
TABLE_EXPANSION_COLUMNS = ["rank", "entry", "score", "published_rank", "published", "in_base"]
AGREEMENT = ["features", "lm", "f1", "entries", "abusive_published", "abusive", "spearman", "auc"]
AGREEMENT += ["overlap", "same_sign"]


def ranked(words: pd.DataFrame, in_full: bool) -> pd.DataFrame:
    """Return COLUMNS of all entries sorted by score, masked where reports require it."""
    ranks = words["published"].rank(ascending=False, method="min").astype(int)
    data = words.assign(rank=range(1, len(words) + 1), published_rank=ranks)
    return data.assign(entry=[lexicon.shown(entry, in_full) for entry in data["entry"]])[
        TABLE_EXPANSION_COLUMNS
    ]


def table_expansion_layout(
    data: pd.DataFrame, about: pd.Series, in_full: bool, title: str
) -> Table:
    """Return the entries with the highest scores, and the agreement with the published ranking."""
    header = ["Rank", "Entry", "Score", "Published rank", "Published score", "In the base lexicon"]
    grid = [
        [
            str(row.rank),
            row.entry,
            style.number(row.score, 2),
            str(row.published_rank),
            style.number(row.published, 2),
            "yes" if row.in_base else "",
        ]
        for row in data.head(SHOWN).itertuples()
    ]
    whole = data["in_base"].size
    of = f" of {about.lm}" if isinstance(about.lm, str) and about.lm else ""
    notes = [
        f"fitted to the whole base lexicon by {about.features}{of}, the best in cross-validation (F1 {about.f1:.1f})",
        f"{(data.score > 0).sum():,} of {whole:,} entries are classified as abusive; published {(data.published > 0).sum():,}",
        (f"of the {about.entries:,} entries that are not in the base lexicon: Spearman's ρ of both scores "
        f"{style.number(about.spearman, 2)}, area under the ROC curve for the published classes "
        f"{style.number(about.auc, 2)}, {about.overlap:.0f} % of the published abusive entries are among as "
        f"many highest scores, {about.same_sign:.0f} % have the same sign"),
    ]  # fmt: skip
    if not in_full:
        notes.append("words are masked; `show_words: true` in the experiment prints them in full")
    return Table(f"{title}: expanded lexicon", header, grid, notes, left=1)


def table_abusive_expansion(
    *, words: File, agreement: File, out: Files, show_words: bool, title: str
) -> None:
    """Write the table to `out` (.csv, .html, .tex); `words` is the expanded lexicon's Parquet file."""
    data = ranked(pd.read_parquet(words), show_words)
    about = comparison.table(agreement, AGREEMENT).iloc[0]
    tables.write(out, table_expansion_layout(data, about, show_words, title), data)
