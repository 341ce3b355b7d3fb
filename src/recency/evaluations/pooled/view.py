"""Forest plot: an LM's lead over the baseline in each corpus, by language, and their meta-analysis.

The pooled analysis as a table: corpora by language, fixed and random effects, heterogeneity.
"""

import math
from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from recency import languages
from recency.evaluations.pooled.effects import ALL, SCALE
from recency.figures import style, tables
from recency.figures.comparison import LM, View
from recency.figures.paths import File, Files
from recency.figures.tables import Table

PRODUCTS = {
    "figure_pooled": {
        "makes": {"out": ("figure_pooled", "Forest plot of the pooled analysis")},
        "reads": ["effects=pooled_effects", "pooled=pooled", "not_run"],
        "settings": ["lms=ranked_lms", "responses", "baseline=ranked_baseline"],
    },
    "table_pooled": {
        "makes": {"out": ("table_pooled", "Pooled analysis by language")},
        "reads": ["effects=pooled_effects", "pooled=pooled", "not_run"],
        "settings": ["lms=ranked_lms", "responses", "title"],
        "summary": ("table_pooled.csv", "{title}: pooled over corpora"),
    },
}


ACROSS = 2
"""Number of panels per row."""
INCHES = 0.2
"""Height of a line of a panel."""
DIAMOND = 0.32
"""Half of a diamond's height, lines."""
CORPUS, LANGUAGE, OVERALL = "#0072b2", "#d55e00", "#000000"


def lines(effects: pd.DataFrame, pooled: pd.DataFrame, lm: str) -> pd.DataFrame:
    """Return the lines of an LM's panel from top to bottom.

    Columns: kind (corpus, language or overall), text, value, low, high, n, prediction_low,
    prediction_high. Languages with one corpus have no separate line.
    """
    corpora = effects[(effects.lm == lm) & (effects.measure == ALL)]
    measures = effects[(effects.lm == lm) & (effects.measure != ALL)]
    combined = pooled[pooled.lm == lm].set_index("language")
    listed = []
    for code, part in corpora.groupby("language", sort=False):
        for row in part.itertuples(index=False):
            together = measures.dataset.isin(row.dataset.split("+"))  # corpora that share texts
            measured_as = ", ".join(measures[together].measure.unique())
            label = row.label if row.label.endswith(measured_as) else f"{row.label} {measured_as}"
            listed.append({"kind": "corpus", "text": label, "value": row.effect, "low": row.low, "high": row.high, "n": row.n})  # fmt: skip
        if 1 < len(part) < len(corpora):  # a single language is the total
            listed.append(_mean_line("language", languages.name_of(code), combined.loc[code]))
    listed.append(_mean_line("overall", "All", combined.loc[ALL]))
    columns = ["kind", "text", "value", "low", "high", "n", "prediction_low", "prediction_high"]
    return pd.DataFrame(listed, columns=columns)


def _mean_line(kind: str, name: str, row: pd.Series) -> dict:
    """Return the line of a meta-analysis with its random-effects mean."""
    i2 = "" if math.isnan(row.i2) else f", I² {100 * row.i2:.0f} %"
    ends = {key: row[key] for key in ("prediction_low", "prediction_high")}
    return {
        "kind": kind, "text": f"{name} ({row.k:.0f} corpora{i2})", "value": row.random,
        "low": row.random_low, "high": row.random_high, **ends,
    }  # fmt: skip


def draw(
    effects: pd.DataFrame, pooled: pd.DataFrame, lms: Sequence[LM], baseline: str, words: list[str]
) -> Figure:
    """Draw a panel per LM: corpora as points, languages and total as diamonds, with 95 % intervals."""
    shown = [lm for lm in lms if lm.lm in set(pooled.lm)]
    parts = {lm.lm: lines(effects, pooled, lm.lm) for lm in shown}
    across = min(ACROSS, len(shown))
    down = math.ceil(len(shown) / across)
    tallest = max(map(len, parts.values()))
    figure = style.figure(0.3 + down * (0.75 + INCHES * tallest))
    grid = figure.subplots(down, across, squeeze=False, sharey=True)
    for number, axes in enumerate(grid.flat):
        axes.set_visible(number < len(shown))
        if number < len(shown):
            lm = shown[number]
            _panel(axes, parts[lm.lm], lm.lm)
            axes.set_title(lm.label, loc="left")
            unit = f"(nats per {SCALE:,} observations)"
            sides = style.favours(baseline, "\n")
            axes.set_xlabel(f"\N{MINUS SIGN} {baseline} {unit}\n{sides}")
    style.notes(figure, words)
    return figure


def _panel(axes: Axes, rows: pd.DataFrame, lm: str) -> None:
    """Draw the lines of one LM."""
    axes.axvline(0, color=style.GREY, lw=0.7)
    largest = rows.n.max()
    for y, row in enumerate(rows.itertuples(index=False)):
        gid = f"{row.kind} {y} {lm}"
        if row.kind == "corpus":
            axes.plot([row.low, row.high], [y, y], color=CORPUS, lw=0.9)
            size = 3 + 4 * math.sqrt(row.n / largest)
            axes.plot(row.value, y, "s", ms=size, color=CORPUS, gid=gid)
            continue
        colour = LANGUAGE if row.kind == "language" else OVERALL
        if row.kind == "overall" and not math.isnan(row.prediction_low):
            axes.plot(
                [row.prediction_low, row.prediction_high], [y, y], color=colour, lw=0.9, ls=":"
            )
        corners = [(row.low, y), (row.value, y - DIAMOND), (row.high, y), (row.value, y + DIAMOND)]
        axes.fill(*zip(*corners, strict=True), color=colour, lw=0.5, gid=gid)
    axes.set_yticks(range(len(rows)), list(rows.text))
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")
    axes.xaxis.set_major_formatter(style.tick)


def sentences(pooled: pd.DataFrame) -> list[str]:
    """Return notes on the marks and intervals."""
    marks = "squares: corpora, larger with more observations; diamonds: random-effects means"
    predicted = (
        "; dotted: prediction interval of a new corpus"
        if pooled.prediction_low.notna().any()
        else ""
    )
    return [f"{marks}; lines and widths: 95 % intervals{predicted}"]


def figure_pooled(view: View, effects: File, pooled: File, out: Files) -> None:
    """Draw the forest plot to `out` (.pdf, .svg, .png; .csv for the effects)."""
    leads, combined = pd.read_csv(effects), pd.read_csv(pooled)
    reference = view.labels.get(view.baseline, view.baseline)
    words = [*sentences(combined), *absent(view, leads)]
    style.write(out, leads, draw, leads, combined, view.lms, reference, words, empty=words)


def absent(view: View, leads: pd.DataFrame) -> list[str]:
    """Return notes on the responses whose datasets have no leads."""
    return view.absent([r.label for r in view.responses if r.dataset in set(leads.dataset)])


HEADER = [
    "LM",
    "",
    "Corpora",
    "Lead",
    "95 %",
    "Fixed effect",
    "95 %",
    "τ",
    "I²",
    "Q (p)",
    "New corpus",
]


def layout(
    effects: pd.DataFrame | None,
    pooled: pd.DataFrame,
    title: str,
    notes: list[str],
) -> Table:
    """Return each LM's corpora, languages and total; `pooled` has labels."""
    grid, rules = [], []
    for (lm, label), combined in pooled.groupby(["lm", "label"], sort=False):
        rules.append(len(grid))
        first = label
        for row in combined.itertuples(index=False):
            whole = row.language == ALL
            corpora = [] if effects is None or whole else _corpora(effects, lm, row.language)
            for cells in corpora:
                grid.append([first, *cells])
                first = ""
            name = "All languages" if whole else languages.name_of(row.language)
            grid.append([first, name, *_cells(row)])
            first = ""
    return Table(title, HEADER, grid, notes, rules=tuple(rules[1:]), left=2)


def _corpora(effects: pd.DataFrame, lm: str, language: str) -> list[list[str]]:
    """Return the cells of an LM's corpora in a language, by measure and in total."""
    mine = effects[(effects.lm == lm) & (effects.language == language)]
    lines = []
    for _, part in mine.groupby("dataset", sort=False):
        single = len(part) == 2
        for row in part.itertuples(index=False):
            if row.measure == ALL and single:
                continue
            name = row.label if row.measure == ALL else f"{row.label} {row.measure}"
            ends = style.interval(row.low, row.high, decimals=2)
            lines.append([name, f"n {row.n:,}", style.number(row.effect, 2), ends, *[""] * 6])
    return lines


def _cells(row) -> list[str]:
    """Return the cells of a meta-analysis."""
    tested = "" if math.isnan(row.q) else f"{style.number(row.q)} ({style.p_value(row.q_p)})"
    return [
        f"{row.k:.0f}",
        style.number(row.random, 2),
        style.interval(row.random_low, row.random_high, decimals=2),
        style.number(row.fixed, 2),
        style.interval(row.fixed_low, row.fixed_high, decimals=2),
        style.number(math.sqrt(row.tau2), 2) if row.k > 1 else "",
        "" if math.isnan(row.i2) else f"{100 * row.i2:.0f} %",
        tested,
        style.interval(row.prediction_low, row.prediction_high, decimals=2),
    ]


def described(pooled: pd.DataFrame) -> list[str]:
    """Return notes on the columns, and tests of differences between languages."""
    baseline = pooled.against_label.iloc[0]
    notes = [
        (
            f"lead: ΔLogLik of the LM minus that of {baseline}, nats per {SCALE:,} observations; for languages "
            "the random-effects mean over corpora, with Hartung and Knapp's interval"
        ),
        (
            "fixed effect: the mean of these corpora only; τ: standard deviation of leads between corpora; "
            "new corpus: 95 % prediction interval"
        ),
    ]
    for row in pooled[(pooled.language == ALL) & pooled.p_between.notna()].itertuples():
        notes.append(
            f"difference between languages, {row.label}: Q({row.df_between:.0f}) = "
            f"{style.number(row.q_between, 2)}, p {style.p_value(row.p_between)}"
        )
    return notes


def summary(path: File) -> Table:
    """Return the meta-analyses for the summary, without corpora."""
    pooled = pd.read_csv(path)
    return layout(None, pooled, "", described(pooled))


def table_pooled(view: View, effects: File, pooled: File, out: Files) -> None:
    """Write the table to `out` (.csv tidy, .html, .tex)."""
    labels, leads, combined = view.labels, pd.read_csv(effects), pd.read_csv(pooled)
    combined = combined.assign(
        label=combined.lm.map(labels), against_label=combined.against.map(labels)
    )
    notes = [*described(combined), *absent(view, leads)]
    tables.write(out, layout(leads, combined, view.title, notes), combined)
