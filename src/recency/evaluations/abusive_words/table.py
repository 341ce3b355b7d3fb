"""Cross-validated precision, recall and F1 by set of features, next to Tables 6.7 and 6.8, thesis."""

import pandas as pd

from recency.figures import comparison, style, tables
from recency.figures.comparison import Described
from recency.figures.paths import File, Files
from recency.figures.tables import Cell, Table

PRODUCT = {
    "makes": {"out": ("table_abusive_words", "Abusive words by sets of features")},
    "reads": ["scores=abusive_words"],
    "settings": ["lms", "resources", "folds", "title"],
    "published": "abusive_words",
    "summary": ("table_abusive_words.csv", "{title}: abusive words by sets of features"),
}
MEASURES = ["precision", "recall", "f1"]
COLUMNS = ["features", "label", "lm", "entries", "columns", *MEASURES, "f1_of_classes"]
COLUMNS += ["p_previous", "missing", "fold_f1"]
KNOWN = [f"published_{measure}" for measure in MEASURES]


def collected(scores: File, labels: dict[str, str], published: File | None) -> pd.DataFrame:
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


def main(
    *,
    scores: File,
    out: Files,
    lms: Described,
    resources: Described,
    folds: int,
    title: str,
    published: File | None = None,
) -> None:
    """Write the table to `out` (.csv, .html, .tex)."""
    models, _ = comparison.records(lms, [])
    data = collected(scores, {lm.lm: lm.label for lm in models}, published)
    tables.write(out, layout(data, resources, folds, title), data)


def summary(path: File) -> Table:
    """Return the feature sets, the best first, for the summary."""
    rows = comparison.table(path, ["features", "label", "f1"]).dropna(subset="f1")
    rows = rows.sort_values("f1", ascending=False).fillna({"label": ""})
    grid = [[row.features, row.label, style.number(row.f1)] for row in rows.itertuples()]
    return Table("", ["Features", "LM", "F1"], grid, [], left=2)
