"""Labels of crowded scatters cover no point, no whisker and no other label, as rendered."""

import itertools

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from recency.figures import labels, style


def scatter(seed, count, is_crossed=True):
    """Draw points that crowd around few places, with intervals, named by `labels.write`."""
    draw = np.random.default_rng(seed)
    centres = draw.normal(size=(3, 2))
    points = centres[draw.integers(3, size=count)] + draw.normal(scale=0.15, size=(count, 2))
    figure = style.figure(4.5)
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.axhline(points[0, 1], ls="--")
    for (x, y), up, side in zip(points, *draw.gamma(2, 0.15, size=(2, count)), strict=True):
        axes.plot([x, x], [y - up, y + up], "_-", ms=4, lw=0.9, color="green")
        if is_crossed:
            axes.plot([x - side, x + side], [y, y], "|-", ms=4, lw=0.9, color="green")
        axes.plot(x, y, "o", ms=6, color="blue")
    axes.plot(*points.T, lw=1, color="red", zorder=0)
    axes.margins(0.14)
    named = {k: tuple(point) for k, point in enumerate(points)}
    names = {k: f"ALiBi-1/{k}-TI" for k in named}
    labels.write(axes, named, names, dict.fromkeys(named, "black"))
    return figure, axes


def drawn_pixels(figure, axes):
    """Return which pixels markers and whiskers cover: all else is hidden, and the rest rendered."""
    figure.set_layout_engine("none")  # the axes stay where they are
    for artist in axes.get_children():
        is_line = artist in axes.lines
        is_kept = is_line and artist.get_color() in ("green", "blue")
        artist.set_visible(is_kept or artist is axes.patch)
    figure.canvas.draw()
    pixels = np.asarray(figure.canvas.buffer_rgba())[::-1, :, :3]
    return (pixels < 250).any(axis=2)


@pytest.mark.parametrize(("seed", "count", "is_crossed"), [(1, 19, True), (4, 30, False)])
def test_no_label_covers_a_point_a_whisker_or_a_label(seed, count, is_crossed):
    with style.use():
        figure, axes = scatter(seed, count, is_crossed)
        figure.canvas.draw()
        renderer = figure.canvas.get_renderer()
        boxes = [text.get_window_extent(renderer) for text in axes.texts]
        frame = axes.get_window_extent(renderer)
        pixels = drawn_pixels(figure, axes)
    assert len(boxes) == count and pixels.sum() > 1000
    for box in boxes:
        rows, columns = (
            slice(int(low) + 1, int(high)) for low, high in (box.intervaly, box.intervalx)
        )
        assert not pixels[rows, columns].any()
        assert (
            frame.x0 <= box.x0 and box.x1 <= frame.x1 and frame.y0 <= box.y0 and box.y1 <= frame.y1
        )
    for a, b in itertools.combinations(boxes, 2):
        assert min(a.x1, b.x1) <= max(a.x0, b.x0) or min(a.y1, b.y1) <= max(a.y0, b.y0)


def test_the_same_data_place_labels_at_the_same_points():
    with style.use():
        first, second = (scatter(5, 12)[1].texts for _ in range(2))
    assert [text.get_position() for text in first] == [text.get_position() for text in second]


def test_a_lone_label_stands_next_to_its_point():
    raster = np.zeros((200, 300), bool)
    ((x, y),) = labels.label_centres([(150.0, 100.0)], [(40.0, 8.0)], raster, raster)
    assert abs(x - 150) <= 21 and abs(y - 100) <= 6


def test_a_label_leaves_lines_clear_where_it_can():
    kept, lines = np.zeros((200, 300), bool), np.zeros((200, 300), bool)
    lines[:120, :] = True  # all below is crossed by lines
    ((_, y),) = labels.label_centres([(150.0, 115.0)], [(40.0, 8.0)], kept, lines)
    assert y >= 124


def test_axes_that_texts_have_squeezed_to_nothing_have_labels_all_the_same():
    raster = np.zeros((1, 1), bool)
    assert (
        labels.label_centres([(0.0, 0.0)] * 2, [(500.0, 8.0)] * 2, raster, raster)
        == [(0.5, 0.5)] * 2
    )
