"""The lexicon expanded by the best feature set, compared with the published one (Table 6.9)."""

import pandas as pd

from recency.evaluations.abusive_words import lexicon
from recency.figures import comparison, style, tables
from recency.figures.paths import File, Files
from recency.figures.tables import Table

PRODUCT = {
    "makes": {"out": ("table_abusive_expansion", "The expanded lexicon")},
    "reads": ["words", "agreement=abusive_words_agreement"],
    "settings": ["show_words", "title"],
}
SHOWN = 25
COLUMNS = ["rank", "entry", "score", "published_rank", "published", "in_base"]
AGREEMENT = ["features", "lm", "f1", "entries", "abusive_published", "abusive", "spearman", "auc"]
AGREEMENT += ["overlap", "same_sign"]


def ranked(words: pd.DataFrame, in_full: bool) -> pd.DataFrame:
    """Return COLUMNS of all entries sorted by score, masked where reports require it."""
    ranks = words["published"].rank(ascending=False, method="min").astype(int)
    data = words.assign(rank=range(1, len(words) + 1), published_rank=ranks)
    return data.assign(entry=[lexicon.shown(entry, in_full) for entry in data["entry"]])[COLUMNS]


def layout(data: pd.DataFrame, about: pd.Series, in_full: bool, title: str) -> Table:
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


def main(*, words: File, agreement: File, out: Files, show_words: bool, title: str) -> None:
    """Write the table to `out` (.csv, .html, .tex); `words` is the expanded lexicon's Parquet file."""
    data = ranked(pd.read_parquet(words), show_words)
    about = comparison.table(agreement, AGREEMENT).iloc[0]
    tables.write(out, layout(data, about, show_words, title), data)
