"""Perplexity on a test text, alone and interpolated.

Tables by LM and by pair of LMs, with intervals over documents and seeds, and curves of perplexity by
a number that LMs differ in, such as hidden units (thesis, Figure 4.4).
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from crosslmm.stats import bootstrap
from crosslmm.stats.totals import Draws, NewSeeds, simultaneous_critical_value
from recency.evaluations.text_perplexity.runs import Scored, group_by_words, has_same_words, read
from recency.figures import ends, style, tables
from recency.figures.comparison import Described, View
from recency.figures.encoding import OTHERS, STYLES
from recency.figures.paths import File, Files
from recency.figures.tables import Cell, Table

PRODUCTS = {
    "figure_perplexity_curves": {
        "makes": {"out": ("figure_perplexity_curves", "Perplexity by size")},
        "reads": ["scores", "texts=scored_texts"],
        "settings": ["variants=every_variant", "interpolated_with", "curves"],
        "when": "curves",
    },
    "table_perplexity_pairs": {
        "makes": {"out": ("table_perplexity_pairs", "Table of perplexity by pair")},
        "reads": ["scores", "texts=scored_texts"],
        "settings": ["variants=every_variant", "pairs", "interpolated_with", "title"],
        "published": "perplexity",
        "when": "pairs",
        "summary": (
            "table_perplexity_pairs.csv",
            "{title}: perplexity by pair",
            "summary_of_perplexity_pairs",
        ),
    },
    "table_perplexity": {
        "makes": {"out": ("table_perplexity", "Table of perplexity on the test text")},
        "reads": ["scores", "texts=scored_texts"],
        "settings": ["variants=every_variant", "interpolated_with", "title"],
        "published": "perplexity",
        "summary": (
            "table_perplexity.csv",
            "{title}: perplexity on the test text",
            "summary_of_perplexity",
        ),
    },
}


TABLE_COLUMNS = [
    "lm",
    "label",
    "seeds",
    "words",
    "unknown",
    "same_words",
    "parameters",
    "validation_ppl",
    "test_ppl",
    "test_sd",
]
TABLE_COLUMNS += ["words_per_second", "weight", "interpolated_ppl", "interpolated_sd"]
TABLE_COLUMNS += ["published_ppl", "published_interpolated_ppl", "published_parameters"]
TABLE_COLUMNS += ["published_label"]
PUBLISHED_COLUMNS = TABLE_COLUMNS[-4:]
TABLE_NOTES = [
    "Parameters: for an n-gram model, the number of n-grams",
    "Words/s: speed of scoring the test text; for n-grams, including loading of the model",
]
LISTED = 3  # LMs that a note names
SEEDS = "±: standard deviation of seeds, if an LM has several; the value is their geometric mean"


def tabulate(lms: Iterable[Scored]) -> pd.DataFrame:
    """Return a row of TABLE_COLUMNS per LM, without published values.

    `unknown` is the number of words of the test text that the LM does not know. LMs with equal
    numbers in `same_words` have the same words and know the same ones.
    """
    lms = list(lms)
    groups = enumerate(group_by_words(lms, "test"))
    group_of = {member.lm.lm: number for number, members in groups for member in members}
    rows = [
        {
            "lm": scored_lm.lm.lm, "label": scored_lm.lm.label, "seeds": len(scored_lm.seeds),
            "words": len(scored_lm.seeds[0].test), "parameters": scored_lm.seeds[0].parameters,
            "unknown": int((~scored_lm.seeds[0].known["test"]).sum()),
            "same_words": group_of[scored_lm.lm.lm],
            "validation_ppl": scored_lm.ppl("validation"), "test_ppl": scored_lm.ppl("test"),
            "test_sd": scored_lm.sd("test"), "weight": scored_lm.mean(lambda seed: seed.weight),
            "words_per_second": scored_lm.mean(lambda seed: seed.words_per_second),
            "interpolated_ppl": scored_lm.ppl("interpolated"),
            "interpolated_sd": scored_lm.sd("interpolated"),
        }
        for scored_lm in lms
    ]  # fmt: skip
    return pd.DataFrame(rows).reindex(columns=TABLE_COLUMNS)


def published_values(path: File) -> pd.DataFrame:
    """Return published rows by the label of the LM here, and `published_label` of those of others.

    An LM that is not the published one, but stands for it, is named in the column `here`.
    """
    values = pd.read_csv(path)
    here = values.here.fillna(values.label) if "here" in values else values.label
    values["published_label"] = values.label.where(here != values.label)
    return values.set_index(here.rename(None))


def with_published_values(rows: pd.DataFrame, path: File) -> pd.DataFrame:
    """Add published values to LMs with these labels, and rows of those that no LM here has."""
    values = published_values(path)
    published = {"ppl": "published_ppl", "ppl_interpolated": "published_interpolated_ppl"}
    published |= {"parameters": "published_parameters"}
    values = values.rename(columns=published).reindex(columns=["label", *PUBLISHED_COLUMNS])
    for column in PUBLISHED_COLUMNS:
        rows[column] = rows.label.map(values[column])
    absent = values[~values.index.isin(rows.label)].assign(published_label=None)
    return pd.concat([rows, absent], ignore_index=True) if len(absent) else rows


def layout_of_lms(title: str, rows: pd.DataFrame, other: str | None) -> Table:
    """Return a row per LM, with the spread of its seeds and published values beneath."""
    names = dict(zip(rows.lm, rows.label))
    header = ["LM", "Parameters", "Words/s", "Validation", "Test"]
    header += [f"with {names[other]}", "Weight"] if other else []
    grid = []
    for row in rows.itertuples():
        named = row.published_label if isinstance(row.published_label, str) else ""
        cells = [
            row.label,
            _parameters_cell(row.parameters, row.published_parameters),
            "–" if np.isnan(row.words_per_second) else f"{row.words_per_second:,.0f}",
            "–" if np.isnan(row.validation_ppl) else f"{row.validation_ppl:.1f}",
            _table_cell(row.test_ppl, row.test_sd, row.seeds, row.published_ppl, named),
        ]
        if other:
            spread = (row.interpolated_sd, row.seeds)
            published = row.published_interpolated_ppl
            cells.append(_table_cell(row.interpolated_ppl, *spread, published, named))
            cells.append("–" if np.isnan(row.weight) else f"{row.weight:.2f}")
        grid.append(cells)
    notes = [*_words_notes(rows), *TABLE_NOTES]
    if other:
        notes.append("Weight: the LM's interpolation weight, by EM on the validation text")
    if other and rows.same_words.nunique() > 1:
        notes.append("Interpolated: an LM gives p = 0 to words that only the other one knows")
    if rows.seeds.max() > 1:
        notes.append(SEEDS)
    if rows.published_label.notna().any():
        notes.append("in brackets: the published LM, where the one here stands for another")
    if rows.lm.isna().any():
        notes.append("without values of its own: published, not run here")
    return Table(f"{title}: perplexity", header, grid, notes)


def _words_notes(rows: pd.DataFrame) -> list[str]:
    """Return notes on the test text's words by LM, and on words that not all LMs know."""
    rows = rows.dropna(subset="words")
    by_size = rows.groupby("words", sort=False)
    if len(by_size) == 1:
        notes = [
            f"Test text: {rows.words.iloc[0]:,.0f} words with the ends of sentences",
            "Perplexity counts every word and the end of every sentence",
        ]
    else:
        sizes = [f"{size:,.0f} ({_listed(part.label)})" for size, part in by_size]
        notes = [
            f"Test text: {', '.join(sizes)} words or tokens with the ends of sentences",
            "Perplexity counts every word or token: the LMs' units differ, and perplexities do not compare",
        ]
    for _, same_size in by_size:
        by_words = same_size.groupby("same_words", sort=False)
        for _, part in by_words if len(by_words) > 1 else ():
            if (unknown := part.unknown.iloc[0]) > 0:
                notes.append(
                    f"{unknown:,.0f} words unknown to {_listed(part.label)}, whose shared probability counts"
                )
    return notes


def _listed(labels: Iterable[str]) -> str:
    """Return the labels of LMs in one line, of many the first and their number."""
    labels = list(labels)
    if len(labels) > LISTED + 1:
        labels = [*labels[:LISTED], f"{len(labels) - LISTED} more"]
    return " and ".join(filter(None, [", ".join(labels[:-1]), labels[-1]]))


def _parameters_cell(value: float, published: str | float) -> Cell:
    """Return a number of parameters, with the published one as it was printed ("6M") beneath."""
    below = (f"published {published}",) if isinstance(published, str) else ()
    return Cell("–" if np.isnan(value) else f"{value / 1e6:.1f} M", below)


def _table_cell(value: float, sd: float, seeds: float, published: float, named: str) -> Cell:
    """Return a value, with the spread of its seeds and the published value, `named`, beneath."""
    below = () if np.isnan(sd) else (f"± {sd:.1f}, {seeds:.0f} seeds",)
    whose = f" ({named})" if named else ""
    below += () if np.isnan(published) else (f"published {published:g}{whose}",)
    return Cell("–" if np.isnan(value) else f"{value:.1f}", below)


def summary_of_perplexity(path: File) -> Table:
    """Return perplexity on the test text by LM, from this table's CSV, for the summary."""
    rows = pd.read_csv(path).dropna(subset="lm")
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


def table_perplexity(
    view: View,
    scores: Files,
    out: Files,
    variants: Described,
    interpolated_with: str | None,
    texts: Files = (),
) -> None:
    """Write the table to `out` (.csv, .html, .tex); `scores` and `texts` are files as in `read`."""
    rows = tabulate(read(scores, variants, interpolated_with, texts))
    rows = with_published_values(rows, view.published) if view.published else rows
    tables.write(out, layout_of_lms(view.title, rows, interpolated_with), rows)


PAIR_COLUMNS = ["lm", "other", "label", "other_label", "text", "seeds", "other_seeds", "documents"]
ENDS = ["low", "high", "low_all", "high_all"]
PAIR_COLUMNS += ["ratio", *ENDS, "published_ratio"]
REPLICATES = 10_000
CLUSTER = "document"
#: Texts for comparing pairs → columns of published values.
PUBLISHED = {"test": "published_ppl", "interpolated": "published_interpolated_ppl"}


def compare_pairs(
    lms: Iterable[Scored], pairs: Iterable[Sequence[str]], seed: int = 0
) -> pd.DataFrame:
    """Return a row of PAIR_COLUMNS per pair and text; no ratio if words, or the known ones, differ.

    Documents are resampled with all of their words, the same ones for all LMs.
    """
    of = {scored_lm.lm.lm: scored_lm for scored_lm in lms}
    pairs = [(of[a], of[b]) for a, b in pairs]
    rows = []
    for text in PUBLISHED:
        asked = [pair for pair in pairs if all(scored_lm.has(text) for scored_lm in pair)]
        means = _means(dict.fromkeys(lm.lm.lm for pair in asked for lm in pair), of, text, seed)
        places = {lm: index for index, lm in enumerate(means)}
        alike = [pair for pair in asked if has_same_words(*pair, text)]
        together = None
        if len(alike) > 1:
            at = [(places[a.lm.lm], places[b.lm.lm]) for a, b in alike]
            together = simultaneous_critical_value(list(means.values()), at)
        for a, b in asked:
            row = {"lm": a.lm.lm, "other": b.lm.lm, "label": a.lm.label, "other_label": b.lm.label}
            row |= {"text": text, "seeds": len(a.seeds), "other_seeds": len(b.seeds)}
            row["documents"] = len(np.unique(a.seeds[0].documents))
            if has_same_words(a, b, text):
                apart = means[a.lm.lm] - means[b.lm.lm]
                ends = apart.ends(together)
                nats = {key: ends[key] for key in ENDS} | {"ratio": apart.value}
                row |= {key: float(np.exp(value)) for key, value in nats.items()}
            rows.append(row)
    return pd.DataFrame(rows, columns=PAIR_COLUMNS)


def _means(
    names: Iterable[str], of: Mapping[str, Scored], text: str, seed: int
) -> dict[str, Draws]:
    """Return LM → nats per word: mean over seeds, with resampled documents and new seeds."""
    lms = [of[name] for name in names]
    further = NewSeeds([scored_lm.nats_by_seed(text) for scored_lm in lms], REPLICATES, seed)
    means = {}
    for group in group_by_words(lms, text):
        documents = group[0].seeds[0].documents
        words = [np.ones(len(documents)), *(scored_lm.nats(text) for scored_lm in group)]
        sums = [bootstrap.cluster_sums(values, documents) for values in words]
        drawn = bootstrap.draws(np.stack(sums, 1), REPLICATES, seed)
        for scored_lm, totals in zip(group, drawn.T[1:]):
            by_document = {CLUSTER: totals / drawn[:, 0]}
            mean = further.mean(scored_lm.nats_by_seed(text), by_document, len(documents))
            means[scored_lm.lm.lm] = mean
    return {scored_lm.lm.lm: means[scored_lm.lm.lm] for scored_lm in lms}


def with_published_ratios(rows: pd.DataFrame, lms: Iterable[Scored], path: File) -> pd.DataFrame:
    """Add the ratios of published values for LMs with the same labels, or that stand for these."""
    values = with_published_values(tabulate(lms), path).dropna(subset="lm").set_index("lm")
    for text, column in PUBLISHED.items():
        ppl, here = values[column], rows.text == text
        rows.loc[here, "published_ratio"] = rows.lm.map(ppl)[here] / rows.other.map(ppl)[here]
    return rows


def layout_of_pairs(title: str, rows: pd.DataFrame, other: str | None) -> Table:
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
        notes.append(
            "other words: perplexities of LMs with different tokens, or with different unknown words, are "
            "not comparable"
        )
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


def summary_of_perplexity_pairs(path: File) -> Table:
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


def table_perplexity_pairs(
    view: View,
    scores: Files,
    out: Files,
    variants: Described,
    pairs: Iterable[Sequence[str]],
    interpolated_with: str | None,
    texts: Files = (),
) -> None:
    """Write the table to `out` (.csv, .html, .tex); `scores` and `texts` are files as in `read`."""
    lms = read(scores, variants, interpolated_with, texts)
    rows = compare_pairs(lms, pairs)
    rows = with_published_ratios(rows, lms, view.published) if view.published else rows
    labels = {scored_lm.lm.lm: scored_lm.lm.label for scored_lm in lms}
    tables.write(out, layout_of_pairs(view.title, rows, labels.get(interpolated_with)), rows)


COLOURS = [colour for colour, _ in (*STYLES.values(), *OTHERS)]
CURVE_COLUMNS = ["curve", "x", "lm", "label", "seeds", "test_ppl", "test_sd"]


def collect_points(lms: Sequence[Scored], of: Mapping[str, Sequence[tuple[float, str]]]):
    """Return CURVE_COLUMNS of each curve's LMs, by x; `of` maps a curve to pairs of x and LM."""
    scored = tabulate(lms).set_index("lm")
    rows = [
        {"curve": curve, "x": x, "lm": lm, **scored.loc[lm, CURVE_COLUMNS[3:]]}
        for curve, points in of.items()
        for x, lm in sorted(points)
    ]
    return pd.DataFrame(rows, columns=CURVE_COLUMNS)


def draw(rows: pd.DataFrame, label: str) -> Figure:
    """Draw a line for each curve; bars are standard deviations of seeds."""
    figure = style.figure(3.0)
    axes, last, names, colours = figure.add_subplot(), [], [], []
    for number, (curve, points) in enumerate(rows.groupby("curve", sort=False)):
        colour = COLOURS[number % len(COLOURS)]
        spread = points.test_sd.fillna(0)
        axes.errorbar(points.x, points.test_ppl, spread, color=colour, marker="o", ms=3.5, lw=1.1)
        last.append((points.x.iloc[-1], points.test_ppl.iloc[-1]))
        names.append(curve)
        colours.append(colour)
    axes.set_xlabel(label)
    axes.set_ylabel("Perplexity (test)")
    style.plain_ticks(axes)
    axes.grid()
    ends.name(axes, names, last, colours)
    return figure


def figure_perplexity_curves(
    *,
    scores: Files,
    out: Files,
    variants: Described,
    interpolated_with: str | None,
    curves: Mapping,
    texts: Files = (),
) -> None:
    """Draw the figure to `out` (.pdf, .svg, .png; .csv for the values); files as in `read`."""
    rows = collect_points(read(scores, variants, interpolated_with, texts), curves["of"])
    style.write(out, rows, draw, rows, curves["x"])
