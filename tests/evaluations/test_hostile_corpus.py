"""A corpus whose words, names and paths are code: its pages show them as text, in a browser too."""

import html

import pytest
from test_check_dataset import run

from browsing import browser, opened, walked  # noqa: F401, a fixture
from made_corpus import WORDS, times

pytestmark = pytest.mark.merge

WORD = "<svg/onload=document.title='hostile'>"
NAME = "<script>document.title='hostile'</script><img src=x onerror=\"document.title='hostile'\">"


def test_the_page_of_a_corpus(browser, tmp_path):  # noqa: F811
    words = WORDS.assign(
        word=WORDS.word.mask(WORDS.index % 7 == 3, WORD), item=WORDS["item"] + NAME
    )
    frame = times()
    frame["subject"] = frame.subject + NAME
    frame.loc[frame.word_id % 7 == 3, "time_ms"] = -1.0  # of which findings give examples
    out = run(
        tmp_path / "study",
        {"FP": frame},
        words,
        about={"Label": NAME, "Cite": NAME},
        files=[{"role": NAME, "from": f"/data/{NAME}", "checksum": NAME}],
    )
    page = out[0].read_text()
    assert html.escape(NAME) in page and NAME not in page and WORD not in page
    seen = opened(browser, out[0], tmp_path)
    assert "<title>" in seen and "<title>hostile" not in seen and "<script" not in seen
    for name, shown in walked(browser, out[0], tmp_path).items():
        assert shown["wide"] <= 0 and shown["faint"] == [], (name, shown["wide"], shown["faint"])
