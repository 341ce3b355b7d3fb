"""Cumulative attention by distance for each head, one panel per LM and layer.

The seeds of an LM share a panel, one line each: without a bias their heads do not correspond.
"""

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.figure import Figure

from recency.evaluations.dependencies import view as figure_attention_heads
from recency.figures import comparison, style
from recency.figures.comparison import LM, Described
from recency.figures.paths import File, Files

PRODUCTS = {
    "main": {
        "makes": {"out": ("figure_attention_by_distance", "Attention by distance")},
        "reads": ["by_distance", "by_head"],
        "settings": ["lms=variants"],
    }
}

SUMMARY = ["layer", "head", "slope", "queries", "windows", "entropy_bits", "relative_entropy",
           "own", "first", "ahead", "mean_distance", "total_variation"]  # fmt: skip
AHEAD = (0, (1, 1))  # dotted
LAYERS = 3  # maximum number of panel columns: first, middle and last layer of a deep network


def shown_layers(layers: int) -> list[int]:
    """Choose the layers to draw, evenly spaced from the first to the last."""
    return sorted({round(layer) for layer in np.linspace(1, layers, min(layers, LAYERS))})


def draw(rows: pd.DataFrame, heads: pd.DataFrame, lms: list[LM], words: list[str]) -> Figure:
    """Draw cumulative attention over log distance, one line per head and seed, and a uniform one."""
    chosen = {lm.lm: shown_layers(int(heads[heads.lm == lm.lm].layer.max())) for lm in lms}
    columns = max(len(layers) for layers in chosen.values())
    figure = style.figure(0.85 + 1.35 * len(lms))
    grid = figure.subplots(len(lms), columns, squeeze=False, sharex=True, sharey=True)
    most = int(heads["head"].max())
    colours = [colormaps["viridis"](0.9 * h / max(1, most - 1)) for h in range(most)]
    for row, lm in zip(grid, lms):
        for axes, layer in zip(row, chosen[lm.lm]):
            panel = rows[(rows.lm == lm.lm) & (rows.layer == layer)]
            width = 1.1 if panel.variant.nunique() == 1 else 0.7
            for (number, _), line in panel.groupby(["head", "variant"]):
                colour, ahead = colours[number - 1], line[line.distance < 0]
                axes.plot(*_within(line, "mass"), color=colour, lw=width)
                if len(ahead):
                    axes.plot(*_within(ahead, "mass"), color=colour, lw=0.8 * width, ls=AHEAD)
            axes.plot(*_within(line, "uniform"), color=style.GREY, lw=0.9, ls=(0, (3, 2)))
            summaries = heads[(heads.lm == lm.lm) & (heads.layer == layer)]
            axes.set_title(_title(lm, layer, summaries), size=style.SMALL)
            axes.set_xscale("log", base=2)
            axes.grid()
        for axes in row[len(chosen[lm.lm]) :]:
            axes.remove()
        row[0].set_ylabel("attention within")
    for axes in grid[-1, : len(chosen[lms[-1].lm])]:
        longest = int(rows.distance.max())
        ticks = [0.5] + [2**k for k in range(0, max(1, longest).bit_length(), 2)]
        axes.set_xticks(ticks, ["own"] + [str(tick) for tick in ticks[1:]])
        axes.set_xlabel("distance (tokens)")
        axes.set_ylim(0, 1.03)
    handles = [
        style.handle(color=colours[h], lw=1.1, label=head_name(heads, h + 1)) for h in range(most)
    ]
    handles.append(style.handle(color=style.GREY, lw=0.9, ls=(0, (3, 2)), label="uniform"))
    if (rows.distance < 0).any():
        label = "following tokens only"
        handles.append(style.handle(color=style.GREY, lw=0.9, ls=AHEAD, label=label))
    figure.legend(handles=handles, loc="outside upper left", ncols=min(4 if heads.slope.notna().any() else 7, len(handles)),
                  columnspacing=1.2, handletextpad=0.5, borderpad=0.2)  # fmt: skip
    style.notes(figure, words)
    return figure


def _within(line: pd.DataFrame, column: str) -> tuple[np.ndarray, np.ndarray]:
    """Return distances in both directions and cumulative attention; the token itself is at 1/2."""
    within = line.groupby(line.distance.abs())[column].sum().cumsum()
    return np.maximum(within.index, 0.5), within.to_numpy()  # the log axis has no 0


def head_name(heads: pd.DataFrame, number: int) -> str:
    """Return a head's number and its slope, or slopes where the LMs differ."""
    slopes = heads[heads["head"] == number].slope.dropna().unique()
    shown = " or ".join(figure_attention_heads.name(slope, number) for slope in sorted(slopes))
    return f"head {number}" + (f", slope {shown}" if 0 < len(slopes) < 4 else "")


def _title(lm: LM, layer: int, summaries: pd.DataFrame) -> str:
    """Return a panel's title, with the total variation to the unbiased network if measured."""
    title = f"{lm.label}, layer {layer}"
    apart = summaries.total_variation.dropna()
    if len(apart):
        title += f" (TV {apart.min():.2f} to {apart.max():.2f})"
    return title


def sentences(heads: pd.DataFrame, lms: list[LM]) -> list[str]:
    """Return notes on total variation, omitted layers and attention to the first input."""
    lines = []
    if heads.total_variation.notna().any():
        lines.append("TV: total variation to the same network without the bias, mean over queries, "
                    "smallest and largest over heads; 0 is no difference")  # fmt: skip
    for lm in lms:
        mine = heads[heads.lm == lm.lm]
        layers = int(mine.layer.max())
        if len(shown_layers(layers)) < layers:
            lines.append(f"{lm.label} has {layers} layers; the CSV has them all")
        if mine["first"].max() > 0.2:
            worst = mine.sort_values("first").iloc[-1]
            head = figure_attention_heads.name(worst.slope, worst["head"])
            named = f"head {head}" if np.isnan(worst.slope) else f"head of slope {head}"
            lines.append(
                f"{lm.label}: layer {worst.layer}'s {named} gives the first input "
                f"{worst['first']:.0%} of its attention"
            )
    return lines


def main(*, by_distance: Files, by_head: Files, out: Files, lms: Described) -> None:
    """Draw the figure to `out` (.pdf, .svg, .png) with the heads' summaries as .csv.

    `by_distance` and `by_head` are attention_by_distance's files in the order of `lms`, whose
    `variant` distinguishes the seeds of an LM.
    """
    lms = list(lms)
    models, _ = comparison.of_seeds(by_distance, lms)
    both = []
    for read, paths in ((pd.read_parquet, by_distance), (_summary, by_head)):
        tables = [
            read(path).assign(lm=lm["lm"], variant=lm.get("variant", lm["lm"]))
            for lm, path in zip(lms, paths, strict=True)
        ]
        both.append(pd.concat(tables, ignore_index=True))
    rows, heads = both
    heads["label"] = heads.lm.map({lm.lm: lm.label for lm in models})
    several = ["variant"] if heads.groupby("lm").variant.nunique().max() > 1 else []
    data = heads[["lm", "label", *several, *SUMMARY]]
    style.write(out, data, draw, rows, heads, models, sentences(heads, models))


def _summary(path: File) -> pd.DataFrame:
    return comparison.table(path, SUMMARY)[SUMMARY]
