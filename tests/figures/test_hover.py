"""Values that show where the pointer rests: in a figure's SVG, and over its image in the report."""

import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from recency.evaluations.report import page
from recency.figures import hover, style

TEXTS = ["a < b & \"c\" 'd'", "<script>alert(1)</script>", "plain"]
PLACES = [(1.0, 20.0), (10.0, 35.0), (300.0, -4.0)]


@pytest.fixture
def saved(tmp_path):
    """Save a figure with three points that have texts: (its SVG, where they are as shares)."""
    with style.use():
        figure = style.figure(3)
        FigureCanvasAgg(figure)
        for axes in figure.subplots(1, 2):
            axes.set_xscale("log")
            axes.plot([1, 300], [0, 30], "o-", gid="dot same")
        for place, text in zip(PLACES, TEXTS, strict=True):
            (point,) = axes.plot(*place, "o", gid="dot same")
            hover.say(point, text)
        paths = [tmp_path / name for name in ("a.svg", "a.png", "a.pdf", "a.csv", "b.svg")]
        style.save(figure, paths, pd.DataFrame({"x": [1]}))
        size = figure.get_size_inches() * figure.dpi
        shares = axes.transData.transform(PLACES) / size
    assert paths[0].read_bytes() == paths[-1].read_bytes()
    return paths[0], np.column_stack([shares[:, 0], 1 - shares[:, 1]])


def test_points_have_their_titles_and_ids_where_they_are_drawn(saved):
    path, shares = saved
    svg = path.read_text()
    assert svg.count("<title>") == len(TEXTS) and "hover-" not in svg and "<script" not in svg
    assert svg.count('<g id="dot same">') == 5
    points = hover.points(svg)
    assert [point.text for point in points] == TEXTS
    np.testing.assert_allclose([point[1:] for point in points], shares, atol=2e-3)


class Titles(HTMLParser):
    def __init__(self):
        super().__init__()
        self.titles, self.tags = [], set()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.titles += [value for name, value in attrs if name == "title"]


def test_the_report_shows_them_over_the_image(saved):
    path, shares = saved
    text, read = page._image(path, TEXTS[1]), Titles()
    read.feed(text)
    assert read.titles == TEXTS and read.tags == {"div", "img", "i"}
    places = re.findall(r"left:([\d.]+)%;top:([\d.]+)%", text)
    np.testing.assert_allclose(np.array(places, float) / 100, shares, atol=2e-3)


def test_long_captions_are_folded_after_their_title():
    short, long = "**Title.** Short.", f"**Title.** {'Long. ' * 100}\n\n- one\n- two"
    assert page._caption(short) == "<p><b>Title.</b> Short.</p>"
    folded = page._caption(long)
    assert folded.startswith("<p><b>Title.</b></p><details><summary>")
    assert folded.count("Long.") == 100 and "<li>two</li></ul></details>" in folded
