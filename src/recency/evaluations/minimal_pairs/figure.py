"""Accuracy on minimal pairs: a bar an LM, and LM by phenomenon (working-memory study, Figures 1, 2)."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from recency.evaluations.minimal_pairs.table import conventions, ranked, read
from recency.evaluations.reading_times.figure_delta_loglik import DASHES, key
from recency.figures import style
from recency.figures.comparison import LM
from recency.figures.encoding import BASELINE

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

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CHANCE = 50.0


def bars(models: list[LM], overall: pd.DataFrame, baseline: str) -> "Figure":
    """Draw overall accuracy as one bar an LM, from chance on; `overall` has a row an LM.

    A whisker is 95 % of the difference from the baseline, set at the baseline: one that crosses the
    dashed line has no difference that would hold for other paradigms.
    """
    from matplotlib.figure import Figure
    from matplotlib.transforms import blended_transform_factory

    looks, reference = style.looks(models), overall.accuracy[baseline]
    figure = Figure(figsize=(style.WIDTH, 1.15 + 0.22 * len(models)), layout="constrained")
    axes = figure.add_subplot()
    column = blended_transform_factory(axes.transAxes, axes.transData)

    def write(points: float, y: float, text: str, **look) -> None:
        axes.annotate(text, (1, y), xycoords=column, xytext=(points, 0), ha="right",
                      textcoords="offset points", va="center_baseline", size=style.SMALL, **look)  # fmt: skip

    for y, lm in enumerate(models):
        row, look = overall.loc[lm.lm], looks[lm.lm]
        axes.barh(y, row.accuracy - CHANCE, left=CHANCE, height=0.78, color=look.bar,
                  edgecolor=look.colour, lw=1)  # fmt: skip
        best = row.accuracy == overall.accuracy.max()
        write(38, y, style.number(row.accuracy), weight="bold" if best else "normal")
        if lm.lm != baseline:
            ends = [reference + row.difference_low, reference + row.difference_high]
            axes.plot(ends, [y, y], color="black", lw=1, marker="|", ms=4, zorder=4)
            write(84, y, style.signed(row.difference))
            if not row.p_paradigms_holm < 0.05:
                write(104, y, "n.s.", color=style.GREY)
    for points, text in ((38, "accuracy"), (84, "\N{MINUS SIGN} baseline")):
        write(points, -0.95, text, color=style.GREY)
    axes.axvline(reference, color=BASELINE, ls=DASHES, lw=1, zorder=3)
    axes.axvline(CHANCE, color=BASELINE, ls=":", lw=1.2, zorder=3)
    axes.set_yticks(range(len(models)), [lm.label for lm in models])
    axes.set_ylim(len(models) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")
    axes.use_sticky_edges = False  # so that the line of chance stands free of the axes' edge
    axes.margins(x=0.03)
    axes.set_xlabel("Accuracy (%), mean over paradigms; bars begin at chance (dotted)")
    axes.xaxis.set_major_formatter(lambda value, _: style.tick(value))
    label = next(lm.label for lm in models if lm.lm == baseline)
    key(figure, models, "bars", [(f"baseline: {label}", BASELINE)])
    lines = [
        f"{overall.pairs.iloc[0]:,.0f} pairs of {overall.paradigms.iloc[0]:.0f} paradigms; whiskers: "
        + "95 % of the difference from the baseline over paradigms (bootstrap); n.s.: p by paradigm, "
        + "corrected by Holm's method, is 0.05 or more",
        *conventions(models, overall),
    ]
    style.notes(figure, lines)
    return figure


def grid(models: list[LM], wide: pd.DataFrame, baseline: str) -> "Figure":
    """Draw accuracy by LM (rows, the best first) and phenomenon (columns, the easiest first)."""
    from matplotlib.colors import TwoSlopeNorm
    from matplotlib.figure import Figure

    rows, columns = wide.shape
    figure = Figure(figsize=(style.WIDTH, 1.95 + 0.21 * rows), layout="constrained")
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
    axes.tick_params(length=0)
    for side in axes.spines.values():
        side.set_visible(False)
    # White lines part the cells, and a wider one the overall column.
    axes.set_xticks([x - 0.5 for x in range(1, columns)], minor=True)
    axes.set_yticks([y - 0.5 for y in range(1, rows)], minor=True)
    axes.grid(which="minor", color="white", lw=1)
    axes.tick_params(which="minor", length=0)
    axes.axvline(0.5, color="white", lw=5)
    bar = figure.colorbar(image, ax=axes, location="bottom", shrink=0.5, aspect=40, pad=0.03)
    bar.set_label("Accuracy (%); 50 is chance", size=style.SMALL)
    bar.outline.set_visible(False)
    style.notes(
        figure, ["the best of each column in bold; a phenomenon is the mean of its paradigms"]
    )
    return figure


def main(
    *,
    accuracy: str | Path,
    total: Iterable[str | Path],
    by_phenomenon: Iterable[str | Path],
    lms: Iterable[Mapping],
    baseline: str,
) -> None:
    """Draw both figures to the .pdf, .svg, .png of `total` and `by_phenomenon`, data to .csv."""
    models, rows = read(accuracy, lms)
    rows = rows[rows.compared]
    models = ranked(models, rows)
    overall = rows[rows.level == "overall"].set_index("lm")
    order = [lm.lm for lm in models]
    wide = rows.pivot(index="lm", columns="group", values="accuracy").loc[order]
    phenomena = wide.drop(columns="overall").mean().sort_values(ascending=False, kind="stable")
    wide = wide[["overall", *phenomena.index]].rename(columns={"overall": "Overall"})
    with style.use():
        style.save(bars(models, overall, baseline), total, overall.loc[order].reset_index())
        style.save(grid(models, wide, baseline), by_phenomenon, wide.reset_index())
