"""Pictures of the documentation are those that the figures' code makes of the stored values today."""

import re

import pytest
from PIL import Image

from project import ROOT
from recency.figures import style
from test_landing import module

DOCS = ROOT / "docs"
pictures = module("pictures")
#: Pictures of other code, and those whose values are too many to be stored.
OTHERS = {
    "memories.png": "setup/landing.py",
    "regression_scale.png": "benchmarks",
    "tutorial.png": "the tutorial's run",
}


def test_every_picture_is_drawn_by_code_or_a_run():
    there = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.png")}
    assert there == {*pictures.PICTURES, *OTHERS}
    shown = "".join(
        page.read_text(encoding="utf-8") for page in (*DOCS.rglob("*.md"), ROOT / "README.md")
    )
    for name in there:
        assert re.search(rf"\]\([\w/.-]*{re.escape(name.rpartition('/')[2])}\)", shown), name


@pytest.mark.merge
@pytest.mark.parametrize("name", pictures.PICTURES)
def test_a_picture_has_the_labels_and_notes_of_today(name):
    with style.use():
        texts = pictures.texts(pictures.PICTURES[name]())
    with Image.open(DOCS / name) as stored:
        assert stored.info[pictures.TEXTS] == texts, "python setup/pictures.py"


@pytest.mark.parametrize("name", pictures.PICTURES)
def test_no_label_of_a_picture_is_cut(name):
    with style.use():
        figure = pictures.PICTURES[name]()
        shown = pictures.drawn(figure)
    renderer = figure.canvas.get_renderer()
    for text in shown:
        box = text.get_window_extent(renderer)
        where = (text.get_text(), box.extents)
        assert box.x0 > -1 and box.y0 > -1, where
        assert box.x1 < figure.bbox.width + 1 and box.y1 < figure.bbox.height + 1, where
