"""Accuracy on minimal pairs by LM and phenomenon, with tests against the baseline.

Accuracy on minimal pairs by LM, and by LM and phenomenon (working-memory study, Figures 1, 2).
"""

import math
from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd
from matplotlib.colors import TwoSlopeNorm
from matplotlib.figure import Figure

from recency.evaluations.minimal_pairs.pairs import ACCURACY_COLUMNS, CONVENTIONS
from recency.evaluations.reading_times.figure_delta_loglik import DASHES, key
from recency.figures import comparison, style, tables
from recency.figures.comparison import LM, View
from recency.figures.encoding import BASELINE
from recency.figures.paths import File, Files
from recency.figures.tables import Cell, Table

PRODUCTS = {
    "figure_minimal_pairs": {
        "makes": {
            "total": ("figure_minimal_pairs", "Accuracy on minimal pairs, by LM"),
            "by_phenomenon": (
                "figure_minimal_pairs_by_phenomenon",
                "Accuracy on minimal pairs, by phenomenon",
            ),
        },
        "reads": ["accuracy=pair_accuracy"],
        "settings": ["lms", "baseline", "training_words"],
        "published": "minimal_pairs",
    },
    "table_minimal_pairs": {
        "makes": {"out": ("table_minimal_pairs", "Accuracy on minimal pairs")},
        "reads": ["accuracy=pair_accuracy"],
        "settings": ["lms", "baseline", "training_words"],
        "published": "minimal_pairs",
        "summary": ("table_minimal_pairs.csv", "{title}: accuracy on minimal pairs"),
    },
}


#: Keys of a row of data/published/wm2026_text.csv.
QUANTITY = "mean BLiMP accuracy (%)"
WINDOW = "fixed window (best)"


def read(view: View, accuracy: File) -> tuple[list[LM], pd.DataFrame]:
    """Return the LMs of pair_accuracy.csv and its rows without paradigms."""
    rows = comparison.table(accuracy, ACCURACY_COLUMNS)
    models = [lm for lm in view.lms if lm.lm in set(rows.lm)]
    return models, rows[rows.level != "paradigm"]


def ranked(models: Iterable[LM], shown: pd.DataFrame) -> list[LM]:
    """Sort LMs by overall accuracy, the best first."""
    overall = shown[shown.level == "overall"].set_index("lm").accuracy
    return sorted(models, key=lambda lm: -overall[lm.lm])


def published_accuracies(
    view: View, words: str, models: Iterable[LM], overall: pd.Series
) -> dict[str, float]:
    """Return the published accuracy (percent) of the baseline and of the best window.

    `overall` is indexed by lm; `words` is the amount of training text as written in the paper
    (10M).
    """
    rows = view.published_rows(["quantity", "training_words", "lm", "value"])
    if rows is None:
        return {}
    rows = rows[(rows.quantity == QUANTITY) & (rows.training_words == words)]
    values = rows.set_index("lm").value.astype(float)
    windows = [lm.lm for lm in models if lm.kind == "window"]
    named = {"baseline": view.baseline} | ({WINDOW: overall[windows].idxmax()} if windows else {})
    return {lm: values[name] for name, lm in named.items() if name in values.index}


def table_minimal_pairs(view: View, accuracy: File, out: Files, training_words: str = "") -> None:
    """Write the table to `out` (.csv tidy, .html, .tex), the best LM first."""
    models, rows = read(view, accuracy)
    shown = rows[rows.compared]
    models = ranked(models, shown)
    overall = shown[shown.level == "overall"].set_index("lm")
    reported = published_accuracies(view, training_words, models, overall.accuracy)
    rows = rows.assign(
        published=[
            reported.get(row.lm, math.nan) if row.compared and row.level == "overall" else math.nan
            for row in rows.itertuples()
        ]
    )
    table = layout(models, rows, overall, reported, view.baseline)
    tables.write(out, table, rows)


def layout(
    models: list[LM],
    rows: pd.DataFrame,
    overall: pd.DataFrame,
    reported: Mapping[str, float],
    baseline: str,
) -> Table:
    """Return the table: overall with its tests, the other sums of tokens, then phenomena."""
    shown = rows[rows.compared]
    wide = shown[shown.level == "phenomenon"].pivot(index="lm", columns="group", values="accuracy")
    by_tokens = rows[rows.level == "overall"].pivot(index="lm", columns="tokens", values="accuracy")
    both = list(CONVENTIONS) if len(by_tokens.columns) > 1 else []
    header = ["LM", "Overall", "\N{MINUS SIGN} baseline", "p, pairs", "p, paradigms"]
    header += [*both, *wide.columns]
    grid = []
    for lm in models:
        row = overall.loc[lm.lm]
        below = [style.interval(row.low_paradigms, row.high_paradigms)]
        below += [f"published {style.number(reported[lm.lm], 0)}"] if lm.lm in reported else []
        best = row.accuracy == overall.accuracy.max()
        cells = [lm.label, Cell(style.number(row.accuracy), tuple(below), bold=bool(best))]
        if lm.lm == baseline:
            cells += [""] * 3
        else:
            gap = (style.interval(row.difference_low, row.difference_high, style.signed),)
            cells.append(Cell(style.signed(row.difference), gap))
            for p in ("p_pairs_holm", "p_paradigms_holm"):
                cells.append(Cell(style.p_value(row[p]), bold=bool(row[p] < 0.05)))
        cells += [style.number(by_tokens.loc[lm.lm, tokens]) for tokens in both]
        for name in wide.columns:
            value = wide.loc[lm.lm, name]
            cells.append(Cell(style.number(value), bold=bool(value == wide[name].max())))
        grid.append(cells)
    title = "Accuracy on minimal pairs (%)"
    return Table(title, header, grid, notes(models, overall, reported))


def notes(models: list[LM], overall: pd.DataFrame, reported: Mapping[str, float]) -> list[str]:
    """Return notes on the measures, ties and first tokens."""
    first = overall.iloc[0]
    lines = [
        (
            "percent of pairs whose acceptable sentence has the lower surprisal, mean over paradigms "
            f"({first.pairs:,.0f} pairs of {first.paradigms:.0f} paradigms); chance is 50; bold: the best LM"
        ),
        *conventions(models, overall),
        "beneath Overall and the difference: 95 % interval over paradigms (bootstrap)",
        (
            "tests are against the baseline: by pairs McNemar's, exact; by paradigms, sign flips of each "
            "one's difference. The pairs of a paradigm come from one template, so that p by pairs speaks "
            "to these sentences only, and is too small for a claim on grammar. Both are corrected by "
            "Holm's method over the LMs; bold: below 0.05"
        ),
    ]
    tied = {lm.label: int(overall.ties[lm.lm]) for lm in models}
    if len(set(tied.values())) == 1:
        lines.append(f"ties, counted as wrong: {next(iter(tied.values()))}")
    else:
        ties = ", ".join(f"{label} {count}" for label, count in tied.items())
        lines.append(f"ties, counted as wrong: {ties}")
    if reported:
        lines.append(
            "published: the working-memory study, section 4.1; the best window's value is next to the best one here"
        )
    return lines


def summary(path: File) -> Table:
    """Return LMs ranked by overall accuracy, from this table's CSV, for the summary."""
    rows = comparison.table(path, ACCURACY_COLUMNS)
    rows = rows[rows.compared & (rows.level == "overall")].sort_values("accuracy", ascending=False)
    header = ["", "LM", "Accuracy (%)", "\N{MINUS SIGN} baseline", "p, paradigms (Holm)"]
    grid = [
        [
            str(rank),
            row.label,
            style.number(row.accuracy),
            style.signed(row.difference, unknown=""),
            "" if math.isnan(row.difference) else style.p_value(row.p_paradigms_holm),
        ]
        for rank, row in enumerate(rows.itertuples(), 1)
    ]
    first = rows.iloc[0]
    size = f"{first.pairs:,.0f} pairs of {first.paradigms:.0f} paradigms; 50 is chance"
    return Table("", header, grid, [size], left=2)


def conventions(models: Iterable[LM], overall: pd.DataFrame) -> list[str]:
    """Return a note on the tokens over which the compared surprisal is summed."""
    words = {"all tokens": "all tokens", "without the first": "all tokens but the first"}
    by_sum: dict[str, list[str]] = {}
    for lm in models:
        by_sum.setdefault(words[overall.tokens[lm.lm]], []).append(lm.label)
    if len(by_sum) == 1:
        return [f"surprisal is summed over {next(iter(by_sum))}"]
    groups = "; ".join(f"{', '.join(labels)}: {what}" for what, labels in by_sum.items())
    return [
        f"surprisal is summed over different tokens for different LMs, which are not comparable: {groups}"
    ]


CHANCE = 50.0


def bars(models: list[LM], overall: pd.DataFrame, baseline: str) -> Figure:
    """Draw overall accuracy as one bar per LM above chance; `overall` has one row per LM, with `published`.

    The whisker is the 95 % interval of the difference from the baseline, centred on the baseline:
    if it crosses the dashed line, the difference is not reliable over paradigms.
    """
    looks, reference = style.looks(models), overall.accuracy[baseline]
    figure = style.figure(1.15 + 0.22 * len(models))
    axes = figure.add_subplot()
    for y, lm in enumerate(models):
        row, look = overall.loc[lm.lm], looks[lm.lm]
        axes.barh(y, row.accuracy - CHANCE, left=CHANCE, height=0.78, color=look.bar,
                  edgecolor=look.colour, lw=1)  # fmt: skip
        best = row.accuracy == overall.accuracy.max()
        style.write_right(
            axes, 38, y, style.number(row.accuracy), weight="bold" if best else "normal"
        )
        if lm.lm != baseline:
            ends = [reference + row.difference_low, reference + row.difference_high]
            axes.plot(ends, [y, y], color="black", lw=1, marker="|", ms=4, zorder=4)
            style.write_right(axes, 84, y, style.signed(row.difference))
            if not row.p_paradigms_holm < 0.05:
                style.write_right(axes, 104, y, "n.s.", color=style.GREY)
        style.published(axes, row.published, y, f"published {lm.lm}")
    for points, text in ((38, "accuracy"), (84, "\N{MINUS SIGN} baseline")):
        style.write_right(axes, points, -0.95, text, color=style.GREY)
    axes.axvline(reference, color=BASELINE, ls=DASHES, lw=1, zorder=3)
    axes.axvline(CHANCE, color=BASELINE, ls=":", lw=1.2, zorder=3)
    axes.set_yticks(range(len(models)), [lm.label for lm in models])
    axes.set_ylim(len(models) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")
    axes.use_sticky_edges = False  # so that the chance line is separate from the axes' edge
    axes.margins(x=0.03)
    axes.set_xlabel("Accuracy (%), mean over paradigms; bars start at chance (dotted)")
    axes.xaxis.set_major_formatter(style.tick)
    label = comparison.find(models, baseline).label
    has_published = bool(overall.published.notna().any())
    key(figure, models, "bars", [(f"baseline: {label}", BASELINE)], has_published)
    lines = [
        (
            f"{overall.pairs.iloc[0]:,.0f} pairs of {overall.paradigms.iloc[0]:.0f} paradigms; whiskers: "
            "95 % of the difference from the baseline over paradigms (bootstrap); n.s.: p by paradigm, "
            "Holm-corrected, is 0.05 or more"
        ),
        *conventions(models, overall),
    ]
    style.notes(figure, lines)
    return figure


def grid(models: list[LM], wide: pd.DataFrame, baseline: str) -> Figure:
    """Draw accuracy by LM (rows, the best first) and phenomenon (columns, the easiest first)."""
    rows, columns = wide.shape
    figure = style.figure(1.95 + 0.21 * rows)
    axes = figure.add_subplot()
    reach = max(30.0, (wide - CHANCE).abs().to_numpy().max())
    norm = TwoSlopeNorm(CHANCE, CHANCE - reach, CHANCE + reach)
    image = axes.imshow(wide, aspect="auto", cmap="PuOr_r", norm=norm, gid="accuracy")
    for y, (lm, values) in enumerate(wide.iterrows()):
        for x, value in enumerate(values):
            red, green, blue, _ = image.cmap(norm(value))
            dark = 0.3 * red + 0.59 * green + 0.11 * blue < 0.5
            best = value == wide.iloc[:, x].max()
            axes.text(x, y, style.number(value), ha="center", va="center_baseline",
                      size=style.SMALL, weight="bold" if best else "normal",
                      color="white" if dark else "black", gid=f"cell {lm} {x}")  # fmt: skip
    labels = {lm.lm: lm.label + " (baseline)" * (lm.lm == baseline) for lm in models}
    axes.set_yticks(range(rows), [labels[lm] for lm in wide.index])
    axes.set_xticks(range(columns), wide.columns, rotation=40, ha="left", rotation_mode="anchor")
    axes.xaxis.tick_top()
    # White lines separate the cells, and a wider one the overall column.
    style.part_cells(axes, np.arange(1, rows) - 0.5, np.arange(1, columns) - 0.5, 1)
    axes.axvline(0.5, color="white", lw=5)
    bar = figure.colorbar(image, ax=axes, location="bottom", shrink=0.5, aspect=40, pad=0.03)
    bar.set_label("Accuracy (%); 50 is chance", size=style.SMALL)
    bar.outline.set_visible(False)
    style.notes(figure, ["bold: the best LM of a column; phenomena are means over paradigms"])
    return figure


def figure_minimal_pairs(
    view: View, accuracy: File, total: Files, by_phenomenon: Files, training_words: str = ""
) -> None:
    """Draw both figures to the .pdf, .svg and .png of `total` and `by_phenomenon`, and data to .csv."""
    models, rows = read(view, accuracy)
    baseline = view.baseline
    rows = rows[rows.compared]
    models = ranked(models, rows)
    overall = rows[rows.level == "overall"].set_index("lm")
    reported = published_accuracies(view, training_words, models, overall.accuracy)
    overall["published"] = [reported.get(lm, math.nan) for lm in overall.index]
    overall["published_difference"] = overall.accuracy - overall.published
    order = [lm.lm for lm in models]
    wide = rows.pivot(index="lm", columns="group", values="accuracy").loc[order]
    phenomena = wide.drop(columns="overall").mean().sort_values(ascending=False, kind="stable")
    wide = wide[["overall", *phenomena.index]].rename(columns={"overall": "Overall"})
    style.write(total, overall.loc[order].reset_index(), bars, models, overall, baseline)
    style.write(by_phenomenon, wide.reset_index(), grid, models, wide, baseline)
