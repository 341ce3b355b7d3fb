"""How often LMs prefer the word to its foil, overall and by condition, compared with readers.

Accuracy in the maze against perplexity, and by the position of the word.

Contrasts between words, in readers' times and each LM's surprisal: paired t over items.
"""

import math

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from crosslmm.stats.correlations import correlation
from recency.evaluations.contrasts.paired import COLUMNS as PAIRED
from recency.evaluations.contrasts.paired import LEVEL, mark
from recency.evaluations.maze.choices import COLUMNS, READERS
from recency.evaluations.maze.choices import COLUMNS as CHOICES
from recency.figures import comparison, ends, labels, style, tables
from recency.figures.comparison import LM, View
from recency.figures.paths import File, Files
from recency.figures.tables import Cell, Table

PRODUCTS = {
    "figure_maze": {
        "makes": {"out": ("figure_maze", "Word or foil: accuracy by perplexity and position")},
        "reads": ["maze"],
        "settings": ["lms"],
        "published": "maze",
    },
    "table_maze": {
        "makes": {"out": ("table_maze", "Word or foil: accuracy in the maze")},
        "reads": ["maze"],
        "settings": ["baseline", "title"],
        "published": "maze",
        "summary": ("table_maze.csv", "{title}: word or foil"),
    },
    "table_maze_contrasts": {
        "makes": {"out": ("table_maze_contrasts", "Contrasts in the maze")},
        "reads": ["contrasts=maze_contrasts", "maze"],
        "settings": ["lms", "title"],
        "published": "maze",
        "when": "contrasts",
    },
}


#: Rows of data/published/thesis_chapter11.csv.
OF_ACCURACY = "spearman of accuracy and perplexity"
NOTES = [
    "percent of words with lower surprisal than their foil; chance is 50, ties count as wrong; beneath: 95 % interval over items",
    "margin: mean surprisal of the foil minus that of the word, bits",
    "perplexity is per word over the same sentences, comparable between tokenizers",
]


def order(rows: pd.DataFrame) -> list[str]:
    """Return readers, then the LMs, the best first."""
    overall = rows[rows.level == "overall"].sort_values("accuracy", ascending=False)
    return sorted(overall.lm, key=lambda lm: lm != READERS)


def published(path: File | None, quantity: str) -> str:
    """Format a published correlation, "published −0.56 (p = 0.036)", or an empty string."""
    if path is None:
        return ""
    rows = comparison.table(path, ["quantity", "value", "p"]).set_index("quantity")
    if quantity not in rows.index:
        return ""
    value, p = rows.value[quantity], rows.p[quantity]
    return f"; published {style.number(float(value), 2)} (p {style.p_value(float(p))})"


def with_perplexity(rows: pd.DataFrame, path: File | None) -> str:
    """Return a note on the correlation of accuracy and perplexity over LMs."""
    overall = rows[(rows.level == "overall") & (rows.lm != READERS)]
    rho = correlation(overall.accuracy, overall.perplexity)
    published_note = published(path, OF_ACCURACY)
    published_note = f"{published_note}, in English" if published_note else ""
    if math.isnan(rho.value):
        return f"accuracy and perplexity: too few LMs for a correlation{published_note}"
    return (
        f"Spearman's ρ of accuracy and perplexity over {rho.n} LMs: {style.number(rho.value, 2)} "
        f"(p {style.p_value(rho.p)}){published_note}"
    )


def not_run(rows: pd.DataFrame) -> list[str]:
    """Return a note on the LMs without surprisal of the foils, with the reason."""
    lost = rows[rows.level == "not run"]
    return [f"not run: {', '.join(rows.label)} ({why})" for why, rows in lost.groupby("group")]


def table_maze(view: View, maze: File, out: Files) -> None:
    """Write the table to `out` (.csv tidy, .html, .tex), readers first, then the best LM."""
    rows = comparison.table(maze, COLUMNS)
    tables.write(out, layout(rows, view.baseline, view.published, view.title), rows)


def layout(
    rows: pd.DataFrame, baseline: str, path: File | None = None, title: str = "Word or foil"
) -> Table:
    """Return a row per LM: overall, difference from the baseline, then by condition."""
    conditions = list(dict.fromkeys(rows.group[rows.level == "condition"]))
    header = ["", "Overall", "\N{MINUS SIGN} baseline", "Margin (bits)", "Perplexity", *conditions]
    grid = []
    for lm in order(rows):
        mine = rows[rows.lm == lm]
        overall = mine[mine.level == "overall"].iloc[0]
        cells = [
            overall.label,
            Cell(style.number(overall.accuracy), (style.interval(overall.low, overall.high),)),
        ]
        if lm in (READERS, baseline):
            cells.append("")
        else:
            gap = (style.interval(overall.difference_low, overall.difference_high, style.signed),)
            cells.append(Cell(style.signed(overall.difference), gap))
        blank = lm == READERS
        cells.append("" if blank else style.number(overall.margin_bits, 2))
        cells.append("" if blank else style.number(overall.perplexity, 0))
        accuracy = mine[mine.level == "condition"].set_index("group").accuracy
        cells += [style.number(accuracy.get(name, math.nan)) for name in conditions]
        grid.append(cells)
    words = int(rows.words[rows.level == "overall"].max())
    notes = [f"{words:,} words with a foil", *NOTES, with_perplexity(rows, path), *not_run(rows)]
    return Table(title, header, grid, notes, rules=(1,) if READERS in set(rows.lm) else ())


def summary(path: File) -> Table:
    """Return the overall column of this table's CSV, for the summary."""
    rows = comparison.table(path, COLUMNS)
    header = ["", "Words chosen (%)", "Perplexity"]
    overall = rows[rows.level == "overall"].set_index("lm")
    grid = [
        [row.label, style.number(row.accuracy), style.number(row.perplexity, 0, unknown="")]
        for row in (overall.loc[lm] for lm in order(rows))
    ]
    return Table("", header, grid, [with_perplexity(rows, None), *not_run(rows)])


LEAST = 0.25  # minimum number of words at a drawn position, as a share of the largest


def draw(rows: pd.DataFrame, lms: list[LM], sentences: list[str]) -> Figure:
    """Draw both panels, with dashed lines for readers."""
    looks = style.looks(lms)
    figure = style.figure(max(3.4, 0.17 * len(lms) + 1.3))
    left, right = figure.subplots(1, 2, sharey=False, width_ratios=[1.25, 1])
    overall = rows[rows.level == "overall"].set_index("lm")
    done = [lm for lm in lms if lm.lm in overall.index]
    left.set_xscale("log")
    points = overall.perplexity, overall.accuracy
    labels.draw_lms(left, done, looks, *points, (overall.low, overall.high))
    dashed = {"color": style.GREY, "ls": (0, (4, 2)), "lw": 1}
    if READERS in overall.index:
        left.axhline(overall.accuracy[READERS], **dashed)
    left.margins(0.16)
    left.set_xlabel("Perplexity of a word (log scale)")
    left.set_ylabel("Words preferred to their foils (%)")
    places = rows[rows.level == "position"].assign(place=lambda table: table.group.astype(int))
    places = places[places.words >= LEAST * places.words.max()]
    last = []
    for name in (*(lm.lm for lm in done), READERS):
        line = places[places.lm == name].sort_values("place")
        how = dashed if name == READERS else {"color": looks[name].colour, "lw": 1.1}
        right.plot(line.place, line.accuracy, **how, gid=f"positions {name}")
        if name != READERS:
            last.append((line.place.iloc[-1], line.accuracy.iloc[-1]))
    right.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    right.set_xlabel("Position in the sentence")
    style.log_ticks(left, 30)
    style.plain_ticks(right)
    for axes in (left, right):
        axes.grid(which="major")
    if READERS in overall.index:
        figure.legend(handles=[style.handle(**dashed, label="readers")], loc="outside upper left")
    style.notes(figure, sentences)
    if done:
        ends.name(right, [lm.label for lm in done], last, [looks[lm.lm].colour for lm in done])
        labels.name_lms(left, done, looks, *points)
    return figure


def figure_maze(view: View, maze: File, out: Files) -> None:
    """Draw the figure to `out` (.pdf, .svg, .png; .csv with the drawn values)."""
    rows = comparison.table(maze, COLUMNS)
    drawn = rows[rows.level.isin(["overall", "position"])]
    notes = [with_perplexity(rows, view.published), *not_run(rows)]
    style.write(out, drawn, draw, rows, view.lms, notes, empty=notes)


#: A row of data/published/thesis_chapter11.csv.
OF_PASSED = "pearson of tests passed and perplexity"
NOTE = (
    "high minus low: readers in log ms (after subtracting each reader's mean), LMs in bits; t is paired over items, "
    f"p two-sided, uncorrected; bold (passed): p < {LEVEL} with high above low. X wrong "
    "direction, . p < 0.1, * < 0.05, ** < 0.01, *** < 0.001"
)


def table_maze_contrasts(view: View, contrasts: File, maze: File, out: Files) -> None:
    """Write the table to `out` (.csv tidy, .html, .tex): a row per contrast, a column per LM."""
    rows = comparison.table(contrasts, [*PAIRED, "label"])
    choices = comparison.table(maze, CHOICES)
    rows["mark"] = [mark(row.t, row.p) for row in rows.itertuples()]
    shown = [lm for lm in (READERS, *view.labels) if lm in set(rows.lm)]
    table = table_contrasts_layout(rows, choices, shown, view.published, view.title)
    tables.write(out, table, rows)


def table_contrasts_layout(
    rows: pd.DataFrame, choices: pd.DataFrame, shown: list[str], path: File | None, title: str
) -> Table:
    """Return a row per contrast, and the number that each LM passes."""
    labels = rows.drop_duplicates("lm").set_index("lm").label
    header = ["", "Items", *(labels[lm] for lm in shown)]
    grid = []
    for _, mine in rows.groupby("contrast", sort=False):
        by_lm = mine.set_index("lm")
        cells = [mine.contrast_label.iloc[0], str(mine["items"].max())]
        for lm in shown:
            row = by_lm.loc[lm]
            size = f"{style.signed(row.difference, 2)} {row['mark']}".strip()
            note = (
                ""
                if math.isnan(row.t)
                else f"t = {style.number(row.t, 2)}, p {style.p_value(row.p)}"
            )
            cells.append(Cell(size, (note,), bold=bool(row.passed)))
        grid.append(cells)
    passed = rows.groupby("lm").passed.sum()
    grid.append(["passed", "", *(str(passed[lm]) for lm in shown)])
    notes = [NOTE, table_contrasts_with_perplexity(passed, choices, path), *not_run(choices)]
    return Table(title, header, grid, notes, rules=(len(grid) - 1,))


def table_contrasts_with_perplexity(
    passed: pd.Series, choices: pd.DataFrame, path: File | None
) -> str:
    """Return a note on the correlation of contrasts passed and perplexity over LMs."""
    perplexity = choices[choices.level == "overall"].set_index("lm").perplexity
    lms = [lm for lm in passed.index if lm != READERS]
    r = correlation(passed[lms], perplexity.reindex(lms), ranks=False)
    published_note = published(path, OF_PASSED)
    published_note = f"{published_note}, of 19 contrasts in German" if published_note else ""
    if math.isnan(r.value):
        return f"contrasts passed and perplexity: too few LMs, or all equal, for a correlation{published_note}"
    return (
        f"Pearson's r of contrasts passed and perplexity over {r.n} LMs: "
        f"{style.number(r.value, 2)} (p {style.p_value(r.p)}){published_note}"
    )
