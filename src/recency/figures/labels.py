"""Labels next to the points of a scatter plot, placed without covering labels, points or whiskers.

adjustText 1.4.0 is not used: for the 19 LMs of Clark et al. (2025), at six sets of positions, it
left up to 3 pairs of labels overlapping and up to 23 labels on markers (tuned: 2 and 4); this
leaves none.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke

from recency.figures import hover, style
from recency.figures.comparison import LM

#: Distance in points of the page between a label and obstacles.
GAP = 2
#: Cost of covering a square point of a marker or a whisker, and of another line, in points of distance
#: from the label's marker; and of a leader that crosses a marker or another label.
COVER, CROSS, LEAD = 1000.0, 0.5, 60.0
#: Number of nearest positions whose leaders are examined; minimum distance of a leader, in points.
NEAREST, LEADER = 300, 9


def drawn(axes: Axes, shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Return rasters of the axes, one cell per point of the page: obstacles, and other lines.

    Obstacles are markers, lines with markers at their ends (intervals) and lines across the axes;
    other lines connect points. Rows go up from the lower edge.
    """
    figure, scale = axes.figure, 72 / axes.figure.dpi
    corner = axes.get_window_extent(figure.canvas.get_renderer()).p0
    kept, lines = np.zeros(shape, bool), np.zeros(shape, bool)
    for line in axes.lines:
        at = (line.get_transform().transform(line.get_xydata()) - corner) * scale
        at = at[np.isfinite(at).all(axis=1)]
        has_marker = line.get_marker() not in ("None", "none", " ", "", None)
        if has_marker:
            half = (line.get_markersize() + line.get_markeredgewidth()) / 2 + GAP / 2
            for x, y in at:
                _mark(kept, x - half, y - half, x + half, y + half)
        if line.get_linestyle() not in ("None", "none", " ", ""):
            is_across = line.get_transform() != axes.transData
            half = line.get_linewidth() / 2 + GAP / 2
            for x, y in _along(at):
                onto = kept if has_marker or is_across else lines
                _mark(onto, x - half, y - half, x + half, y + half)
    return kept, lines


def _along(points: np.ndarray) -> np.ndarray:
    """Return points along a polyline, at most one point of the page apart."""
    parts = [points[:1]]
    for a, b in itertools.pairwise(points):
        steps = max(1, math.ceil(np.abs(b - a).max()))
        parts.append(a + (b - a) * np.arange(1, steps + 1)[:, None] / steps)
    return np.concatenate(parts)


def _mark(raster: np.ndarray, x0: float, y0: float, x1: float, y1: float) -> None:
    """Mark the cells that a box touches."""
    (low, left), (high, right) = (max(0, math.floor(y0)), max(0, math.floor(x0))), (y1, x1)
    raster[low : max(0, math.ceil(high)), left : max(0, math.ceil(right))] = True


def _count_covered(raster: np.ndarray, width: int, height: int) -> np.ndarray:
    """Return the number of marked cells that a box covers, by the cell of its lower left corner."""
    sums = np.pad(raster.cumsum(0).cumsum(1), ((1, 0), (1, 0)))
    return (
        sums[height:, width:] - sums[:-height, width:] - sums[height:, :-width] + sums[:-height, :-width]
    )  # fmt: skip


def label_centres(
    points: Sequence[tuple[float, float]],
    sizes: Sequence[tuple[float, float]],
    kept: np.ndarray,
    lines: np.ndarray,
) -> list[tuple[float, float]]:
    """Return the centre of each point's label; `kept` and `lines` are rasters as of `drawn`.

    All lengths are in points of the page, from the lower left corner of the axes. The most crowded
    point chooses first among all positions within the axes: near its marker, off markers, whiskers
    and other labels and, if possible, off other lines.
    """
    crowd = [sum(math.dist(p, q) < 50 for q in points) for p in points]
    kept, marks = (
        kept.copy(),
        np.zeros(kept.shape, bool),
    )  # markers and labels: no leader crosses them
    for x, y in points:
        _mark(marks, x - 4, y - 4, x + 4, y + 4)
    centres: dict[int, tuple[float, float]] = {}
    for i in sorted(range(len(points)), key=lambda i: (-crowd[i], i)):
        (x, y), limit = points[i], (kept.shape[1], kept.shape[0])
        w, h = (
            min(math.ceil(size) + GAP, most) for size, most in zip(sizes[i], limit, strict=True)
        )
        cost = COVER * _count_covered(kept, w, h) + CROSS * _count_covered(lines, w, h)
        rows, columns = np.ogrid[: cost.shape[0], : cost.shape[1]]
        near_x, near_y = np.clip(x, columns, columns + w), np.clip(y, rows, rows + h)
        cost = (
            cost
            + np.hypot(near_x - x, near_y - y)
            + 0.1 * np.hypot(columns + w / 2 - x, rows + h / 2 - y)
        )
        best = None
        for index in np.argsort(cost, axis=None, kind="stable")[:NEAREST]:
            row, column = divmod(int(index), cost.shape[1])
            end = (min(max(x, column), column + w), min(max(y, row), row + h))
            total = float(cost[row, column])
            if math.dist((x, y), end) > LEADER:
                total += LEAD * _crosses_label(marks, (x, y), end)
            if best is None or total < best[0]:
                best = (total, row, column, end)
        _, row, column, end = best
        centres[i] = (column + w / 2, row + h / 2)
        for raster in (kept, marks):
            _mark(raster, column, row, column + w, row + h)
        if math.dist((x, y), end) > LEADER:
            for u, v in _along(np.array([(x, y), end])):
                _mark(kept, u - 1, v - 1, u + 1, v + 1)
    return [centres[i] for i in range(len(points))]


def _crosses_label(marks: np.ndarray, start: tuple[float, float], end: tuple[float, float]) -> bool:
    """Return whether a leader crosses a label, or a marker other than its own."""
    cells = [(u, v) for u, v in _along(np.array([start, end])) if math.dist((u, v), start) > 7]
    inside = ((int(v), int(u)) for u, v in cells[:-1])
    return any(
        0 <= v < marks.shape[0] and 0 <= u < marks.shape[1] and marks[v, u] for v, u in inside
    )


def draw_lms(
    axes: Axes,
    lms: list[LM],
    looks: Mapping[str, style.Look],
    x: Mapping[str, float],
    y: Mapping[str, float],
    ends: tuple[Mapping[str, float], Mapping[str, float]],
) -> None:
    """Draw each LM's point (x, y) with its interval, `ends` in y."""
    for lm in lms:
        look, at = looks[lm.lm], x[lm.lm]
        interval = [end[lm.lm] for end in ends]
        axes.plot([at] * 2, interval, "_-", color=style.tint(look.colour, 0.6), lw=0.9, ms=4)
        (point,) = axes.plot(at, y[lm.lm], look.marker, mfc=look.face, mec=look.colour, ms=6)
        hover.say(point, f"{lm.label}: {style.number(y[lm.lm], 3)} at {style.number(at, 1)}")


def name_lms(
    axes: Axes,
    lms: list[LM],
    looks: Mapping[str, style.Look],
    x: Mapping[str, float],
    y: Mapping[str, float],
) -> None:
    """Write each LM's label next to its point (x, y), as in `write`."""
    write(
        axes,
        {lm.lm: (x[lm.lm], y[lm.lm]) for lm in lms},
        {lm.lm: lm.label for lm in lms},
        {lm.lm: style.shade(looks[lm.lm].colour) for lm in lms},
    )


def write(
    axes: Axes,
    points: Mapping[str, tuple[float, float]],
    names: Mapping[str, str],
    colours: Mapping[str, str],
) -> None:
    """Write each point's label next to it, with a thin leader if it is distant.

    `points` are in data units, by key. To be called last: the layout is fixed here, labels do not
    affect it, and they avoid everything drawn before.
    """
    figure = axes.figure
    figure.draw_without_rendering()
    renderer, scale = figure.canvas.get_renderer(), 72 / figure.dpi
    texts = {
        key: axes.annotate(
            names[key], point, xytext=(0, 0), textcoords="offset points", ha="center", va="center",
            size=style.SMALL, color=colours[key], gid=f"label {key}", zorder=5, in_layout=False,
            path_effects=[withStroke(linewidth=2, foreground="white")],
        )
        for key, point in points.items() if names[key]
    }  # fmt: skip
    boxes = [text.get_window_extent(renderer) for text in texts.values()]
    sizes = [(box.width * scale, box.height * scale) for box in boxes]
    frame = axes.get_window_extent(renderer)
    pages = [(axes.transData.transform(points[key]) - frame.p0) * scale for key in texts]
    pages = [tuple(map(float, page)) for page in pages]
    shape = tuple(max(1, math.floor(side * scale)) for side in (frame.height, frame.width))
    centres = label_centres(pages, sizes, *drawn(axes, shape))
    for text, (x, y), (cx, cy), (w, h) in zip(texts.values(), pages, centres, sizes, strict=True):
        text.set_position((cx - x, cy - y))
        near = (min(max(x, cx - w / 2), cx + w / 2), min(max(y, cy - h / 2), cy + h / 2))
        if math.dist((x, y), near) > LEADER:
            ends = np.array([(x, y), near]) / scale + frame.p0
            ends = axes.transData.inverted().transform(ends)
            axes.plot(*ends.T, color=style.GREY, lw=0.5, zorder=1.5, scalex=False, scaley=False)
