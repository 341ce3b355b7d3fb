"""Length by type, compared with surprisal and frequency: ρ, Steiger's test, shares and slopes.

Length and surprisal by type: ρ by perplexity, explained variance of length, and ρ by text size.
"""

import math
from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from crosslmm.stats.correlations import correlation
from recency.evaluations.word_length.types import COLUMNS, FREQUENCIES, LARGE, SMALL
from recency.figures import comparison, ends, labels, style, tables
from recency.figures.comparison import LM, View
from recency.figures.paths import File, Files
from recency.figures.tables import Cell, Table

PRODUCTS = {
    "figure_word_length": {
        "makes": {
            "out": ("figure_word_length", "Length and surprisal by type"),
            "growth": ("figure_word_length_growth", "Length and surprisal as the text grows"),
        },
        "reads": ["lengths=word_length"],
        "settings": ["lms", "frequency_of"],
        "published": "word_length",
    },
    "table_word_length": {
        "makes": {"out": ("table_word_length", "Surprisal, frequency and length by type")},
        "reads": ["lengths=word_length"],
        "settings": ["lms", "title", "frequency_of"],
        "published": "word_length",
        "summary": ("table_word_length.csv", "{title}: surprisal and length by type"),
    },
}


#: The row for all LMs in data/published/thesis_table8_1.csv.
OF_PERPLEXITY = "perplexity"
NOTES = [
    "types are words of lower-case letters; ρ is Spearman's correlation of length and mean surprisal, 95 % interval beneath; common: for the most frequent types only",
    "Steiger's t: test of ρ against that of the larger text's frequency, positive if length correlates more with the LM's surprisal",
    "variance of length (%), sequentially explained: frequency in the text, in the larger one, surprisal, surprisal × the larger one's frequency",
    "slopes: regression of length on surprisal and on the larger text's frequency, in standard deviations, ± standard errors",
]


PUBLISHED = ["lm", "t", "p", "rho"]


def labels_of(view: View, frequency_of: str) -> dict[str, str]:
    """Return the label of each LM and of both frequencies."""
    return view.labels | {SMALL: "frequency in the text", LARGE: f"frequency in {frequency_of}"}


def with_perplexity(rows: pd.DataFrame, published: pd.DataFrame | None) -> str:
    """Return a note on the correlation of ρ with perplexity over LMs."""
    overall = rows[(rows.level == "overall") & ~rows.lm.isin(FREQUENCIES)]
    rho = correlation(overall.rho, overall.perplexity)
    published_note = ""
    if published is not None and OF_PERPLEXITY in set(published.lm):
        row = published.set_index("lm").loc[OF_PERPLEXITY]
        published_note = f"; published {style.number(row.rho, 2)} (p {style.p_value(row.p)})"
    if math.isnan(rho.value):
        return f"ρ and perplexity: too few LMs for a correlation{published_note}"
    return (
        f"Spearman's ρ of that ρ with the perplexity per word over {rho.n} LMs: {style.number(rho.value, 2)} "
        f"(p {style.p_value(rho.p)}){published_note}"
    )


def table_word_length(view: View, lengths: File, out: Files, frequency_of: str) -> None:
    """Write the table to `out` (.csv tidy, .html, .tex), frequencies first, then the highest ρ."""
    rows = comparison.table(lengths, COLUMNS)
    rows.insert(1, "label", rows.lm.map(labels_of(view, frequency_of)))
    published = view.published_rows(PUBLISHED)
    data = rows if published is None else pd.concat([rows, published_tests(published)])
    tables.write(out, layout(rows, published, view.title), data)


def published_tests(published: pd.DataFrame) -> pd.DataFrame:
    """Return published values as rows of a level of their own, for the table's CSV."""
    names = {"lm": "label", **{name: f"published_{name}" for name in PUBLISHED[1:]}}
    return published.rename(columns=names).assign(level="published")


def layout(rows: pd.DataFrame, published: pd.DataFrame | None, title: str) -> Table:
    """Return a row per frequency and LM, then the published tests."""
    overall = rows[rows.level == "overall"].set_index("lm")
    common = rows[rows.level == "common"].set_index("lm").rho
    order = [*FREQUENCIES, *overall.drop(list(FREQUENCIES)).sort_values("rho", ascending=False).index]  # fmt: skip
    header = ["", "ρ", "ρ, common", "t", "p", "Perplexity", "text", "larger", "surprisal", "×", "surprisal", "frequency"]  # fmt: skip
    grid = []
    for lm in order:
        row = overall.loc[lm]
        cells = [
            row.label,
            Cell(style.number(row.rho, 3), (style.interval(row.low, row.high, decimals=2),)),
        ]
        cells.append(style.number(common.get(lm, math.nan), 3))
        tested = not math.isnan(row.steiger_t)
        cells += [
            Cell(style.signed(row.steiger_t, 2) if tested else "", bold=bool(row.steiger_p < 0.05)),
            style.p_value(row.steiger_p) if tested else "",
        ]
        if lm in FREQUENCIES:
            cells += [""] * 7
        else:
            cells.append(style.number(row.perplexity, 0))
            shares = ("small", "large", "surprisal", "large_surprisal")
            cells += [style.number(100 * row[f"length_{term}"]) for term in shares]
            for term in ("surprisal", "frequency"):
                spread = f"± {style.number(row[f'slope_{term}_se'], 2)}"
                cells.append(Cell(style.signed(row[f"slope_{term}"], 2), (spread,)))
        grid.append(cells)
    rules = [len(FREQUENCIES)]
    if published is not None:
        rules.append(len(grid))
        for row in published[published.t.notna()].itertuples():
            cells = [f"published: {row.lm}", "", ""]
            grid.append([*cells, style.signed(row.t, 2), style.p_value(row.p), *[""] * 7])
    first = overall.iloc[0]
    notes = [f"{first.types:,.0f} types, {first.words:,.0f} words", *NOTES]
    notes.append(with_perplexity(rows, published))
    if published is not None:
        notes.append(
            "published: the thesis's Table 8.1, for 10 M words of WikiText-103 and frequency in 100 M"
        )
    titles = tables.header(header)
    above = [Cell(span=6), Cell("Variance of length (%)", span=4), Cell("Slopes", span=2)]
    return Table(title, [above, titles], grid, notes, rules=tuple(rules))


def summary(path: File) -> Table:
    """Return ρ and its test from this table's CSV, for the summary."""
    rows = comparison.table(path, ["label", *COLUMNS])
    overall = rows[rows.level == "overall"].sort_values("rho", ascending=False)
    header = ["", "ρ with length", "t against frequency", "p"]
    grid = [
        [
            row.label,
            style.number(row.rho, 3),
            style.signed(row.steiger_t, 2, unknown=""),
            style.p_value(row.steiger_p, ""),
        ]
        for row in overall.itertuples()
    ]
    return Table("", header, grid, [with_perplexity(rows, None)])


#: Shares of the variance of length: column, colour, legend.
SHARES = (
    ("length_small", "#bdbdbd", "frequency in the text"),
    ("length_large", "#7f7f7f", "in the larger text"),
    ("length_surprisal", "#8c510a", "surprisal"),
    ("length_large_surprisal", "#dfc27d", "surprisal × frequency"),
)
DASHES = {SMALL: (0, (1, 2)), LARGE: (0, (4, 2))}


def draw(rows: pd.DataFrame, lms: list[LM], names: Mapping[str, str], correlations: str) -> Figure:
    """Draw ρ against perplexity (frequencies as horizontal lines), and the shares as bars."""
    looks = style.looks(lms)
    overall = rows[rows.level == "overall"].set_index("lm")
    figure = style.figure(max(3.4, 0.2 * len(lms) + 1.2))
    left, right = figure.subplots(1, 2, width_ratios=[1.2, 1])
    left.set_xscale("log")
    points = overall.perplexity, overall.rho
    labels.draw_lms(left, lms, looks, *points, (overall.low, overall.high))
    for name in FREQUENCIES:
        left.axhline(overall.rho[name], color=style.GREY, lw=1, ls=DASHES[name], label=names[name])
    left.margins(0.16)
    style.log_ticks(left, 30)
    left.set_xlabel("Perplexity per word (log scale)")
    left.set_ylabel("Spearman's ρ, length and surprisal")
    left.grid(which="major")
    _stack(right, overall, lms)
    figure.legend(handles=left.get_legend_handles_labels()[0] + right.get_legend_handles_labels()[0],
                  loc="outside upper left", ncols=3)  # fmt: skip
    style.notes(figure, [correlations])
    labels.name_lms(left, lms, looks, *points)
    return figure


def _stack(axes: Axes, overall: pd.DataFrame, lms: list[LM]) -> None:
    """Draw the shares of the variance of length explained by the terms, one bar per LM."""
    shown = sorted((lm for lm in lms), key=lambda lm: overall.perplexity[lm.lm], reverse=True)
    places, begin = range(len(shown)), [0.0] * len(shown)
    for column, colour, label in SHARES:
        size = [100 * overall[column][lm.lm] for lm in shown]
        axes.barh(places, size, left=begin, color=colour, height=0.7, label=label)
        begin = [a + b for a, b in zip(begin, size, strict=True)]
    axes.set_yticks(places, [lm.label for lm in shown])
    axes.tick_params("y", length=0)
    axes.set_xlabel("Explained variance (%)")
    axes.grid(axis="x")


def draw_growth(rows: pd.DataFrame, lms: list[LM], names: Mapping[str, str]) -> Figure:
    """Draw ρ over a doubling number of the text's first words; frequencies dotted and dashed."""
    looks = style.looks(lms)
    figure = style.figure(max(3.4, 0.17 * len(lms) + 1.5))
    axes = figure.add_subplot()
    axes.set_xscale("log", base=2)
    sizes, last, colours = rows[rows.level == "size"], [], []
    every = [*FREQUENCIES, *(lm.lm for lm in lms)]
    for name in every:
        line = sizes[sizes.lm == name].sort_values("size")
        colour = style.GREY if name in FREQUENCIES else looks[name].colour
        axes.plot(line["size"], line.rho, color=colour, lw=1.1, ls=DASHES.get(name, "-"), gid=name)
        last.append((line["size"].iloc[-1], line.rho.iloc[-1]))
        colours.append(colour)
    style.plain_ticks(axes)
    axes.set_xlabel("Words of the text (log scale)")
    axes.set_ylabel("Spearman's ρ, length and surprisal")
    axes.grid()
    ends.name(axes, [names[name] for name in every], last, colours)
    return figure


def figure_word_length(
    view: View, lengths: File, out: Files, growth: Files, frequency_of: str
) -> None:
    """Draw both figures (.pdf, .svg, .png; .csv for the values)."""
    rows, names = comparison.table(lengths, COLUMNS), labels_of(view, frequency_of)
    sizes, overall = rows[rows.level == "size"], rows[rows.level == "overall"]
    lost = ["The text is too short for an analysis by text size"]
    note = with_perplexity(rows, view.published_rows(PUBLISHED))
    style.write(out, overall, draw, rows, view.lms, names, note)
    style.write(growth, sizes, draw_growth, rows, view.lms, names, empty=lost)
