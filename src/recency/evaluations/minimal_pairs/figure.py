"""Accuracy on minimal pairs by LM, and by LM and phenomenon (working-memory study, Figures 1, 2)."""

import numpy as np
import pandas as pd
from matplotlib.colors import TwoSlopeNorm
from matplotlib.figure import Figure

from recency.evaluations.minimal_pairs.table import conventions, ranked, read
from recency.evaluations.reading_times.figure_delta_loglik import DASHES, key
from recency.figures import comparison, style
from recency.figures.comparison import LM, Described
from recency.figures.encoding import BASELINE
from recency.figures.paths import File, Files

PRODUCT = {
    "makes": {
        "total": ("figure_minimal_pairs", "Accuracy on minimal pairs, by LM"),
        "by_phenomenon": (
            "figure_minimal_pairs_by_phenomenon",
            "Accuracy on minimal pairs, by phenomenon",
        ),
    },
    "reads": ["accuracy=pair_accuracy"],
    "settings": ["lms", "baseline"],
}

CHANCE = 50.0


def bars(models: list[LM], overall: pd.DataFrame, baseline: str) -> Figure:
    """Draw overall accuracy as one bar per LM above chance; `overall` has one row per LM.

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
    key(figure, models, "bars", [(f"baseline: {label}", BASELINE)])
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


def main(
    *, accuracy: File, total: Files, by_phenomenon: Files, lms: Described, baseline: str
) -> None:
    """Draw both figures to the .pdf, .svg and .png of `total` and `by_phenomenon`, and data to .csv."""
    models, rows = read(accuracy, lms)
    rows = rows[rows.compared]
    models = ranked(models, rows)
    overall = rows[rows.level == "overall"].set_index("lm")
    order = [lm.lm for lm in models]
    wide = rows.pivot(index="lm", columns="group", values="accuracy").loc[order]
    phenomena = wide.drop(columns="overall").mean().sort_values(ascending=False, kind="stable")
    wide = wide[["overall", *phenomena.index]].rename(columns={"overall": "Overall"})
    style.write(total, overall.loc[order].reset_index(), bars, models, overall, baseline)
    style.write(by_phenomenon, wide.reset_index(), grid, models, wide, baseline)
