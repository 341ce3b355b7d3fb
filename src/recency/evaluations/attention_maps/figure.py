"""Attention over one sentence: heads × first layers, LMs next to each other."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from recency.figures import comparison, style
from recency.figures.comparison import LM, View
from recency.figures.paths import Files

PRODUCTS = {
    "main": {
        "makes": {"out": ("figure_attention_maps", "Attention over a sentence")},
        "reads": ["maps"],
        "settings": ["lms=drawn_lms", "layers"],
    }
}

COLUMNS = ["layer", "head", "query", "key", "query_token", "key_token", "attention"]
TALLEST = 8.2  # inches, all panels together: with title and notes the figure fits on a page
APART = 1.2 * style.SMALL / 72  # inches between two token labels


def draw(rows: pd.DataFrame, lms: list[LM], layers: int, words: list[str]) -> Figure:
    """Draw a row per head and a column per LM and layer; queries downwards, keys to the right."""
    columns = [
        (lm, layer)
        for lm in lms
        for layer in range(1, min(layers, int(rows[rows.lm == lm.lm].layer.max())) + 1)
    ]
    heads = int(rows["head"].max())
    length = int(rows["query"].max()) + 1
    width = (style.WIDTH - 1.1) / len(columns)
    height = min(width, TALLEST / heads)
    figure = style.figure(heads * height + 1.25)
    figure.get_layout_engine().set(w_pad=0.02, h_pad=0.02, wspace=0, hspace=0)
    grid = figure.subplots(heads, len(columns), squeeze=False)
    for column, (lm, layer) in zip(grid.T, columns):
        mine = rows[(rows.lm == lm.lm) & (rows.layer == layer)]
        for number, axes in enumerate(column, 1):
            image = _panel(axes, mine[mine["head"] == number], length)
        column[0].set_title(f"{lm.label}\nlayer {layer}", size=style.SMALL)
    names = {lm.lm: _tokens(rows[rows.lm == lm.lm]) for lm in lms}
    down, right = (
        slice(None, None, int(np.ceil(APART * length / side))) for side in (height, width)
    )
    places = np.arange(length)
    for number, axes in enumerate(grid[:, 0], 1):
        axes.set_ylabel(f"head {number}", size=style.SMALL)
        axes.set_yticks(places[down], names[columns[0][0].lm][down])
    for axes, (lm, _) in zip(grid[-1], columns):
        tick_labels = names[lm.lm]
        axes.set_xticks(places[: len(tick_labels)][right], tick_labels[right], rotation=90)
    bar = figure.colorbar(image, ax=grid, location="bottom", aspect=60, pad=0.01, shrink=0.5)
    bar.set_label("attention", size=style.SMALL)
    bar.ax.xaxis.set_major_formatter(style.tick)
    style.notes(figure, words)
    return figure


def _panel(axes, panel: pd.DataFrame, length: int):
    """Draw one head's attention from 0 (white) to 1; keys hidden from a query are grey."""
    values = np.full((length, length), np.nan)
    values[panel["query"], panel["key"]] = panel.attention
    axes.set_facecolor("#ececec")
    axes.set(xticks=[], yticks=[])
    for side in axes.spines.values():
        side.set(visible=True, lw=0.4)
    axes.tick_params(length=0, pad=1)
    return axes.imshow(
        values, cmap="Purples", vmin=0, vmax=1, aspect="auto", interpolation="nearest"
    )


def _tokens(rows: pd.DataFrame) -> list[str]:
    """Return the tokens in order, with a short name for a begin token (<|endoftext|>, <s>)."""
    tokens = list(rows.drop_duplicates("query").sort_values("query").query_token)
    begins = tokens[0].startswith("<") and tokens[0].endswith(">")
    return ["(begin)", *tokens[1:]] if begins else tokens


def sentences(rows: pd.DataFrame, lms: list[LM], layers: int) -> list[str]:
    """Return notes on the tokens that were read and on omitted layers."""
    lines = ["Rows of a panel: attending tokens; columns: attended tokens"]
    read = {}
    for lm in lms:
        mine = rows[rows.lm == lm.lm]
        read.setdefault(" ".join(_tokens(mine)), []).append(lm.label)
        if mine.layer.max() > layers:
            lines.append(f"{lm.label} has {mine.layer.max()} layers; its Parquet file has them all")
    return lines + [f"All tokens of {', '.join(labels)}: {text}" for text, labels in read.items()]


def main(view: View, maps: Files, out: Files, layers: int) -> None:
    """Draw the figure to `out` (.pdf, .svg, .png, and the values as .csv).

    `maps` are attention_map's files in the order of the LMs; the first `layers` are drawn.
    """
    models = view.lms
    rows = comparison.joined(models, (pd.read_parquet(path, columns=COLUMNS) for path in maps))
    data = rows[rows.layer <= layers][["lm", "label", *COLUMNS]]
    style.write(out, data, draw, rows, models, layers, sentences(rows, models, layers))
