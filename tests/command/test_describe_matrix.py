"""`recency describe` of small parts of the real corpora, each under every damage that its table can have.

Nothing is stated: `describe` alone decides. A cell of the matrix is the true words and times, or a message
that names the damage. The undamaged tables and a part of the damaged ones, by a fixed rotation,
are run before a change is merged; the others are in the long tier.
"""

import zlib

import numpy as np
import pytest

import lab_tables
from lab_damages import DAMAGES, made
from lab_verdicts import verdict

PART = 24
"""One of so many damaged tables is of the merge tier."""

#: Damages that another table would say: with nothing to compare them with, these are what the table says.
UNSEEN = {
    "merged": "two words written as one for every reader are a word",
    "reader shuffled": "one reader's times of 300 words go with the words' length too weakly to tell",
}
#: Damages that a table would say, by table: times one word too late may be spillover, which the length of
#: the word before explains as well, in `ucl_spr` times of these readers go with no word's length, and
#: chapters of `geco` go on with the numbers of sentences.
UNSEEN_IN = {
    **dict.fromkeys(("natural_stories", "maze", "amaze"), ("times of the row before",)),
    "ucl_spr": ("times of the row before", "times of the row after"),
    "geco": ("two texts with one id",),
}


def _cells():
    """Yield corpus and damage, with the tier."""
    for i, name in enumerate(lab_tables.LABS):
        for j, damage in enumerate(DAMAGES):
            is_first = damage == "none" or (i + j) % PART == 0
            tier = pytest.mark.merge if is_first else pytest.mark.long
            yield pytest.param(name, damage, marks=tier, id=f"{name}, {damage}")


@pytest.mark.parametrize(("name", "damage"), [*_cells()])
def test_the_table_is_right_or_its_damage_is_named(name, damage, shared_data, mirror, tmp_path):
    frame = lab_tables.table(name, shared_data, mirror)
    if frame is None:
        pytest.skip(f"the files of {lab_tables.LABS[name].dataset} are not here")
    draw = np.random.default_rng(zlib.crc32(f"{name} {damage}".encode()))
    table = DAMAGES[damage](made(lab_tables.LABS[name], frame), draw)
    if table is None:
        pytest.skip("a table of this shape cannot have this damage")
    found, message = verdict(table, tmp_path / "mine.csv")
    if damage in UNSEEN or damage in UNSEEN_IN.get(name, ()):
        assert found == "quiet", "it is seen now: take it off the list"
    elif table.named is None:
        assert found == "right", message
    else:
        assert found in ("right", "named", "noted"), message
