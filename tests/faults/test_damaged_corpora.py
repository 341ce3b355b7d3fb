"""Corpora damaged at random: each is refused in a line that names the file, or no other response changes."""

import random
import sys
from pathlib import Path

import pandas as pd
import pytest

from damaged import changed, damage

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "reading"))
from test_dataset_damage import ALL, NAMES, outcome, text_of

#: Responses that a line may change: those of its word, and of fixations that go on from it.
A_LINE = 12


@pytest.mark.parametrize(
    "number",
    [pytest.param(12, marks=pytest.mark.merge), pytest.param(50, marks=pytest.mark.long)],
)
@pytest.mark.parametrize("sample", ALL, ids=NAMES)
def test_random_damages(sample, number):
    draw, before = random.Random(NAMES[ALL.index(sample)]), outcome(sample)
    data = text_of(sample).encode(sample.encoding)
    for _ in range(number):
        what, lines, broken = damage(data, draw, sample.separator)
        found = outcome(sample, broken)
        if what == "shuffled rows" and sample.parser == "dundee":
            continue  # the order of its rows is all that orders fixations
        check(what, lines, before, found, sample.files[sample.damaged][0])


def check(what, lines, before, found, name):
    """Fail unless an outcome is an error that names the file, or harm of the damaged lines alone."""
    words, times, notes = found
    if times is None:
        assert name in words, (what, words)
        assert "Traceback" not in words and len(words) < 2000, what
        return
    assert isinstance(words, pd.DataFrame), what
    other, gone = changed(before, found)
    limit = A_LINE * lines if lines is not None else 0
    said = "sorted" in notes or "if the file was cut off" in notes
    assert other <= limit or said, (what, other, gone, notes)
