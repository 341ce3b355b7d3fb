"""Labels beside the points of a scatter, placed so that none covers another or a marker.

Not by adjustText: of the 19 LMs of Clark et al. (2025), at six sets of places, its version 1.4.0
left up to 3 pairs of labels overlapping and up to 23 labels on markers (tuned: 2 and 4), this none.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping

from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke

from recency.figures import style
from recency.figures.comparison import LM

Box = tuple[float, float, float, float]  # x0, y0, x1, y1 in points of the page


def overlap(a: Box, b: Box) -> float:
    """Return the area that two boxes share."""
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    return width * height if width > 0 and height > 0 else 0.0


def place(
    points: list[tuple[float, float]],
    sizes: list[tuple[float, float]],
    frame: Box,
    lines: list[Box],
) -> list[tuple[float, float]]:
    """Place a label near each point so that none covers another, a marker or (if it can) a line.

    Everything is in points of the page; `sizes` are the labels' widths and heights, `frame` is
    where labels may be, `lines` small boxes along the connecting lines. Greedy: the most crowded
    point chooses first among positions on circles around it. Returns the labels' centres.
    """
    markers = [(x - 4, y - 4, x + 4, y + 4) for x, y in points]
    crowd = [sum(math.hypot(x - u, y - v) < 50 for u, v in points) for x, y in points]
    placed: dict[int, Box] = {}
    for i in sorted(range(len(points)), key=lambda i: (-crowd[i], i)):
        (x, y), (w, h) = points[i], sizes[i]
        best = None
        for radius in (6, 10, 16, 24, 34, 46, 60, 76, 94, 114):
            for step in range(24):
                angle = 2 * math.pi * step / 24
                dx, dy = math.cos(angle), math.sin(angle)
                cx, cy = x + dx * (radius + w / 2), y + dy * (radius + h / 2)
                box = (cx - w / 2 - 1, cy - h / 2, cx + w / 2 + 1, cy + h / 2)
                outside = w * h - overlap(box, frame)
                cost = 20 * max(0.0, outside - 2.2 * h) + 2 * radius
                cost += 20 * sum(overlap(box, other) for other in placed.values())
                cost += 8 * sum(overlap(box, marker) for marker in markers)
                cost += 1.0 * sum(overlap(box, line) for line in lines)
                if radius > 10:  # its leader would cross other markers or labels
                    along = ((x + (cx - x) * t, y + (cy - y) * t) for t in (0.25, 0.4, 0.55, 0.7))
                    leader = [(u, v, u + 1, v + 1) for u, v in along]
                    others = [m for j, m in enumerate(markers) if j != i] + list(placed.values())
                    cost += 40 * sum(overlap(dot, other) > 0 for dot in leader for other in others)
                if best is None or cost < best[0]:
                    best = (cost, box)
        placed[i] = best[1]
    return [((b[0] + b[2]) / 2, (b[1] + b[3]) / 2) for b in (placed[i] for i in range(len(points)))]


def draw_lms(
    axes: Axes,
    lms: list[LM],
    looks: Mapping[str, style.Look],
    x: Mapping[str, float],
    y: Mapping[str, float],
    ends: tuple[Mapping[str, float], Mapping[str, float]],
) -> list[tuple[float, float, float]]:
    """Draw each LM's point (x, y) on its interval, `ends` in y; return the intervals as `bars`."""
    for lm in lms:
        look, at = looks[lm.lm], x[lm.lm]
        interval = [end[lm.lm] for end in ends]
        axes.plot([at] * 2, interval, "_-", color=style.tint(look.colour, 0.6), lw=0.9, ms=4)
        axes.plot(at, y[lm.lm], look.marker, mfc=look.face, mec=look.colour, ms=6)
    return [(x[lm.lm], *(end[lm.lm] for end in ends)) for lm in lms]


def name_lms(
    axes: Axes,
    lms: list[LM],
    looks: Mapping[str, style.Look],
    x: Mapping[str, float],
    y: Mapping[str, float],
    **lines,
) -> None:
    """Write each LM's label next to its point (x, y), as `write` does; each has its own line."""
    write(
        axes,
        {lm.lm: (x[lm.lm], y[lm.lm]) for lm in lms},
        {lm.lm: lm.label for lm in lms},
        {lm.lm: style.shade(looks[lm.lm].colour) for lm in lms},
        **{"lines": [[lm.lm] for lm in lms]} | lines,
    )


def write(
    axes: Axes,
    points: Mapping[str, tuple[float, float]],
    names: Mapping[str, str],
    colours: Mapping[str, str],
    lines: list[list[str]],
    bars: Iterable[tuple[float, float, float]] = (),
    across: Iterable[float] = (),
) -> None:
    """Write each point's name beside it, with a thin leader where it must stand apart.

    `points` are in data units, by key; `lines` are the chains of keys that the figure connects,
    `bars` upright lines, as x and two ends, NaN for none, `across` the heights of lines across.
    Called last: the layout is settled here, and labels leave it alone.
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
        for key, point in points.items()
    }  # fmt: skip
    boxes = [text.get_window_extent(renderer) for text in texts.values()]
    sizes = [(box.width * scale, box.height * scale) for box in boxes]
    pages = {key: tuple(axes.transData.transform(point) * scale) for key, point in points.items()}
    inside = axes.get_window_extent(renderer)
    frame = tuple(edge * scale for edge in inside.extents)
    dots = []
    upright = [
        [tuple(axes.transData.transform((x, y)) * scale) for y in ends]
        for x, *ends in bars
        if not any(map(math.isnan, ends))
    ]
    level = [
        [(side, axes.transData.transform((0, y))[1] * scale) for side in (frame[0], frame[2])]
        for y in across
    ]
    for ends in [*([pages[key] for key in chain] for chain in lines), *upright, *level]:
        for (x, y), (u, v) in itertools.pairwise(ends):
            parts = max(1, round(math.hypot(u - x, v - y) / 3))
            for k in range(parts + 1):
                a, b = x + (u - x) * k / parts, y + (v - y) * k / parts
                dots.append((a - 1, b - 1, a + 1, b + 1))
    centres = place(list(pages.values()), sizes, frame, dots)
    to_data = axes.transData.inverted()
    for key, (cx, cy), (w, h) in zip(texts, centres, sizes):
        x, y = pages[key]
        texts[key].set_position((cx - x, cy - y))
        near = (min(max(x, cx - w / 2), cx + w / 2), min(max(y, cy - h / 2), cy + h / 2))
        if math.dist((x, y), near) > 11:
            ends = to_data.transform([(x / scale, y / scale), (near[0] / scale, near[1] / scale)])
            axes.plot(*ends.T, color=style.GREY, lw=0.5, zorder=1.5, scalex=False, scaley=False)
