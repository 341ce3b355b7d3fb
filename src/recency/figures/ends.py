"""Labels at the ends of lines, to the right of the axes, without overlap."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from matplotlib.axes import Axes
from scipy.optimize import isotonic_regression

from recency.figures import style


def apart(values: Iterable[float], least: float) -> np.ndarray:
    """Move values minimally so that they are at least `least` apart, keeping their order."""
    values = np.asarray(list(values), float)
    order, steps = np.argsort(values, kind="stable"), least * np.arange(len(values))
    result = np.empty_like(values)
    result[order] = isotonic_regression(values[order] - steps).x + steps
    return result


def name(
    axes: Axes, texts: Sequence[str], ends: Sequence[tuple[float, float]], colours: Sequence[str]
) -> None:
    """Write a label at each line's end (x, y)."""
    axes.figure.draw_without_rendering()  # determines the limits
    points = axes.transAxes.inverted().transform(axes.transData.transform(np.array(ends, float)))
    inches = axes.get_window_extent().height / axes.figure.dpi
    height = 0.16 / inches  # height of a line of text, as a share of the axes
    places = apart(points[:, 1], height)
    places -= min(0.0, places.min())  # none below the axes
    for text, end, y, colour in zip(texts, ends, places, colours, strict=True):
        axes.annotate(
            text, end, xytext=(1.05, y), textcoords="axes fraction",
            va="center", size=style.SMALL, color=style.shade(colour), annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": colour, "lw": 0.6, "shrinkA": 1, "shrinkB": 0,
                        "relpos": (0, 0.5)},
        )  # fmt: skip
