"""Pairs of LMs: differences in perplexity, with intervals over documents and seeds."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd

from crosslmm.stats import bootstrap
from crosslmm.stats.totals import Draws, NewSeeds, simultaneous_critical_value
from recency.evaluations.text_perplexity import scored, table
from recency.evaluations.text_perplexity.scored import Scored
from recency.figures import style, tables
from recency.figures.comparison import Described
from recency.figures.paths import File, Files
from recency.figures.tables import Cell, Table

PRODUCT = {
    "makes": {"out": ("table_perplexity_pairs", "Table of perplexity by pair")},
    "reads": ["scores"],
    "settings": ["variants=every_variant", "pairs", "interpolated_with", "title"],
    "published": "perplexity",
    "when": "pairs",
    "summary": ("table_perplexity_pairs.csv", "{title}: perplexity by pair"),
}

COLUMNS = ["lm", "other", "label", "other_label", "text", "seeds", "other_seeds", "documents"]
ENDS = ["low", "high", "low_all", "high_all"]
COLUMNS += ["ratio", *ENDS, "published_ratio"]
REPLICATES = 10_000
CLUSTER = "document"
#: Texts for comparing pairs → columns of published values.
PUBLISHED = {"test": "published_ppl", "interpolated": "published_interpolated_ppl"}


def computed(lms: Iterable[Scored], pairs: Iterable[Sequence[str]], seed: int = 0) -> pd.DataFrame:
    """Return a row of COLUMNS per pair and text; no ratio if words differ.

    Documents are resampled with all of their words, the same ones for all LMs.
    """
    of = {scored_lm.lm.lm: scored_lm for scored_lm in lms}
    pairs = [(of[a], of[b]) for a, b in pairs]
    rows = []
    for text in PUBLISHED:
        asked = [pair for pair in pairs if all(scored_lm.has(text) for scored_lm in pair)]
        means = _means(dict.fromkeys(lm.lm.lm for pair in asked for lm in pair), of, text, seed)
        places = {lm: index for index, lm in enumerate(means)}
        alike = [pair for pair in asked if _same_words(*pair)]
        together = None
        if len(alike) > 1:
            at = [(places[a.lm.lm], places[b.lm.lm]) for a, b in alike]
            together = simultaneous_critical_value(list(means.values()), at)
        for a, b in asked:
            row = {"lm": a.lm.lm, "other": b.lm.lm, "label": a.lm.label, "other_label": b.lm.label}
            row |= {"text": text, "seeds": len(a.seeds), "other_seeds": len(b.seeds)}
            row["documents"] = len(np.unique(a.seeds[0].documents))
            if _same_words(a, b):
                apart = means[a.lm.lm] - means[b.lm.lm]
                ends = apart.ends(together)
                nats = {key: ends[key] for key in ENDS} | {"ratio": apart.value}
                row |= {key: float(np.exp(value)) for key, value in nats.items()}
            rows.append(row)
    return pd.DataFrame(rows, columns=COLUMNS)


def _same_words(a: Scored, b: Scored) -> bool:
    """Return whether two LMs were scored on the same words, judging by their documents."""
    return np.array_equal(a.seeds[0].documents, b.seeds[0].documents)


def _means(
    names: Iterable[str], of: Mapping[str, Scored], text: str, seed: int
) -> dict[str, Draws]:
    """Return LM → nats per word: mean over seeds, with resampled documents and new seeds."""
    lms = [of[name] for name in names]
    further = NewSeeds([_by_seed(scored_lm, text) for scored_lm in lms], REPLICATES, seed)
    means = {}
    for group in _group_by_words(lms):
        documents = group[0].seeds[0].documents
        words = [np.ones(len(documents)), *(scored_lm.nats(text) for scored_lm in group)]
        sums = [bootstrap.cluster_sums(values, documents) for values in words]
        drawn = bootstrap.draws(np.stack(sums, 1), REPLICATES, seed)
        for scored_lm, totals in zip(group, drawn.T[1:]):
            by_document = {CLUSTER: totals / drawn[:, 0]}
            mean = further.mean(_by_seed(scored_lm, text), by_document, len(documents))
            means[scored_lm.lm.lm] = mean
    return {scored_lm.lm.lm: means[scored_lm.lm.lm] for scored_lm in lms}


def _group_by_words(lms: Iterable[Scored]) -> list[list[Scored]]:
    """Group LMs that were scored on the same words, which share their resampled documents."""
    groups: list[list[Scored]] = []
    for lm in lms:
        group = next((members for members in groups if _same_words(members[0], lm)), None)
        group.append(lm) if group else groups.append([lm])
    return groups


def _by_seed(lm: Scored, text: str) -> dict[str, float]:
    """Return seed → nats per word; equal seed numbers have one name for all LMs."""
    return {seed.seed: float(getattr(seed, text).mean()) for seed in lm.seeds}


def with_published(rows: pd.DataFrame, lms: Iterable[Scored], path: File) -> pd.DataFrame:
    """Add the ratios of published values for LMs with the same labels."""
    values = table.with_published(table.computed(lms), path).set_index("lm")
    for text, column in PUBLISHED.items():
        ppl, here = values[column], rows.text == text
        rows.loc[here, "published_ratio"] = rows.lm.map(ppl)[here] / rows.other.map(ppl)[here]
    return rows


def layout(title: str, rows: pd.DataFrame, other: str | None) -> Table:
    """Return a row per pair and a column per text: difference in percent, its interval beneath."""
    texts = [text for text in PUBLISHED if (rows.text == text).any()]
    names = {"test": "Test", "interpolated": f"with {other}"}
    header = ["LM", "than", "Seeds", *(names[text] for text in texts)]
    grid = []
    for _, pair_rows in rows.groupby(["lm", "other"], sort=False):
        first, of = pair_rows.iloc[0], pair_rows.set_index("text")
        seeds = dict.fromkeys((first.seeds, first.other_seeds))
        cells = [first.label, first.other_label]
        cells.append(" and ".join(map(str, seeds)))
        grid.append(cells + [_cell(of.loc[text]) if text in of.index else "" for text in texts])
    documents = rows.documents.iloc[0]
    notes = ["Difference of the first LM's perplexity from the second's, in percent"]
    if documents > 1:
        notes += [
            f"beneath: its 95 % interval over {documents:,} resampled documents and new seeds",
            "bold where the simultaneous interval for all pairs excludes zero",
        ]
    else:
        notes.append("the text is one document, so that there are no intervals")
    if (rows.seeds.clip(upper=rows.other_seeds) < 2).any():
        notes.append("with one seed, intervals are for these training runs only")
    if rows.ratio.isna().any():
        notes.append("other words: perplexities of LMs with different tokens are not comparable")
    return Table(f"{title}: perplexity by pair", header, grid, notes, left=2)


def _cell(row: pd.Series) -> Cell:
    """Return the cell of a pair: difference, interval and published value."""
    if np.isnan(row.ratio):
        return "other words"
    below = () if np.isnan(row.low) else (style.percents(row.low - 1, row.high - 1),)
    if not np.isnan(row.published_ratio):
        below += (f"published {style.percent(row.published_ratio - 1)}",)
    return Cell(style.percent(row.ratio - 1), below, bold=is_distinguishable(row))


def is_distinguishable(row: pd.Series) -> bool:
    """Return whether a pair's simultaneous interval excludes a ratio of 1."""
    low, high = (row.low, row.high) if np.isnan(row.low_all) else (row.low_all, row.high_all)
    return bool(low > 1 or high < 1)


def summary(path: File) -> Table:
    """Return the pairs' differences on the test text, from this table's CSV, for the summary."""
    rows = pd.read_csv(path).query("text == 'test' and ratio > 0")
    grid = [
        [
            row.label,
            row.other_label,
            Cell(style.percent(row.ratio - 1), bold=is_distinguishable(row)),
        ]
        + [style.interval(row.low - 1, row.high - 1, style.percent)]
        for _, row in rows.iterrows()
    ]
    notes = ["bold where the interval, simultaneous for all pairs, excludes zero"] if grid else []
    return Table("", ["LM", "than", "Perplexity", "95 %"], grid, notes, left=2)


def main(
    *,
    scores: Files,
    out: Files,
    variants: Described,
    pairs: Iterable[Sequence[str]],
    interpolated_with: str | None,
    title: str,
    published: File | None = None,
) -> None:
    """Write the table to `out` (.csv, .html, .tex); `scores` are score's files, two per variant."""
    lms = scored.read(scores, variants, interpolated_with)
    rows = computed(lms, pairs)
    rows = with_published(rows, lms, published) if published else rows
    labels = {scored_lm.lm.lm: scored_lm.lm.label for scored_lm in lms}
    tables.write(out, layout(title, rows, labels.get(interpolated_with)), rows)
