"""Similarity of states by distance in words, compared with words in random order."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from recency.figures import comparison, ends, style
from recency.figures.comparison import LM, View
from recency.figures.paths import Files

PRODUCTS = {
    "main": {
        "makes": {"out": ("figure_temporal_correlation", "Temporal correlation of states")},
        "reads": ["correlations"],
        "settings": ["lms=variants"],
    }
}

COLUMNS = ["layer", "state", "distance", "correlation", "shuffled", "pairs"]
STEP = 1.15  # ratio of the ends of a point's distances
#: Minimum number of pairs at a drawn distance; in small datasets, half of the maximum.
LEAST = 1000


def points(rows: pd.DataFrame) -> pd.DataFrame:
    """Return distance, correlation and shuffled, as means over distances whose ends differ by STEP."""
    rows = rows[rows.pairs >= min(LEAST, rows.pairs.max() / 2)]
    part = np.floor(np.log(rows.distance) / np.log(STEP)).astype(int)
    values = rows.assign(distance=np.log(rows.distance))[["distance", "correlation", "shuffled"]]
    sums = values.mul(rows.pairs, axis=0).groupby(part).sum()
    means = sums.div(rows.pairs.groupby(part).sum(), axis=0)
    return means.assign(distance=np.exp(means.distance))


def draw(tables: list[pd.DataFrame], lms: list[LM]) -> Figure:
    """Draw the last layer of each LM, and dotted the same for words in random order.

    An LSRC's short memory of its first layer is drawn dashed.
    """
    looks = style.looks(lms)
    figure = style.figure(max(3.2, 0.17 * len(lms) + 1.2))
    axes = figure.add_subplot()
    axes.set_xscale("log")
    last, names, colours = [], [], []
    for lm, rows in zip(lms, tables, strict=True):
        output, local = rows[rows.state == "output"], rows[rows.state == "local"]
        drawn = [(lm.label, output[output.layer == output.layer.max()], "-")]
        if len(local):
            drawn.append((f"{lm.label}, local", local[local.layer == local.layer.min()], "--"))
        for name, of_state, dashes in drawn:
            line, colour = points(of_state), looks[lm.lm].colour
            axes.plot(line.distance, line.correlation, color=colour, lw=1.1, ls=dashes)
            axes.plot(line.distance, line.shuffled, color=colour, lw=0.9, ls=(0, (1, 2)))
            last.append((line.distance.iloc[-1], line.correlation.iloc[-1]))
            names.append(name)
            colours.append(colour)
    axes.xaxis.set_major_formatter(style.tick)
    axes.set_xlabel("Distance (words)")
    axes.set_ylabel("Mean cosine of states")
    axes.grid()
    ends.name(axes, names, last, colours)
    handles = [
        style.handle(color=style.GREY, lw=1.1, label="text"),
        style.handle(color=style.GREY, lw=0.9, ls=(0, (1, 2)), label="words in random order"),
    ]
    axes.legend(handles=handles, loc="upper right")
    return figure


def main(view: View, correlations: Files, out: Files) -> None:
    """Draw the figure to `out` (.pdf, .svg, .png; .csv with the drawn values of all layers).

    The seeds of an LM share its name; their mean is drawn.
    """
    models, files = view.lms, view.of_runs(correlations)
    tables = [
        pd.concat(comparison.table(path, COLUMNS)[COLUMNS] for path in files[lm.lm])
        .groupby(["layer", "state", "distance"], as_index=False)
        .mean()
        for lm in models
    ]
    data = pd.concat(
        points(rows).assign(lm=lm.lm, label=lm.label, layer=layer, state=state)
        for lm, table in zip(models, tables, strict=True)
        for (layer, state), rows in table.groupby(["layer", "state"])
    )
    columns = ["lm", "label", "layer", "state", "distance", "correlation", "shuffled"]
    style.write(out, data[columns], draw, tables, models)
