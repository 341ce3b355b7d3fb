"""Experiments with few items are warned of."""

import pandas as pd
import pytest

from readingtimes import checks


@pytest.mark.parametrize(("items", "warned"), [(6, True), (8, False)])
def test_fewer_than_eight_items_are_warned_of(items, warned):
    rows = [(n, c) for n in range(items) for c in ("a", "b")]
    words = pd.DataFrame(rows, columns=["stimulus", "condition"]).assign(
        word="Dogs", sentence=range(2 * items)
    )
    words = words.assign(item=words.stimulus.astype(str) + words.condition, position=1)
    texts = [finding.text for finding in checks.words(words) if finding.check == "items"]
    assert (
        texts
        == [
            f"{items} items: too few to tell their effects from those of the conditions; 8 or more are usual"
        ]
        * warned
    )
