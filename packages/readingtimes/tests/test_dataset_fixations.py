"""What holds of measures from any fixations."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readingtimes.fixations import measure, presented


@pytest.mark.merge
@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 1), st.integers(1, 8), st.integers(1, 500), st.booleans()),
        min_size=1,
    )
)
def test_first_pass_is_part_of_go_past_and_no_word_stands_twice(rows):
    rows = sorted(rows, key=lambda row: row[0])
    text, place, time, glance = (np.array(column) for column in zip(*rows, strict=True))
    sums = measure(np.zeros(len(rows)), text, place, time.astype(float), glance)
    assert (sums.FP <= sums.GP).all()
    assert (sums.FP > 0).equals(sums.GP > 0)
    words = pd.DataFrame({"item": np.repeat(["0", "1"], 8), "word_id": np.arange(16)})
    frame = pd.DataFrame({"subject": "s", "word_id": text * 8 + place - 1})
    frame["previous_fixated"] = sums.words_since_fixation == 1
    for name in ("FP", "GP"):
        whole = presented(frame.assign(time_ms=sums[name]), words)
        assert not whole.duplicated(["subject", "word_id"]).any()
        assert len(whole) == 8 * len(set(text))
        assert whole.time_ms.sum() == sums[name].sum()
        assert not whole.previous_fixated[whole.time_ms == 0].any()
    # The word before was fixated where a saccade of one word is claimed.
    for row in np.flatnonzero(sums.words_since_fixation == 1):
        assert (text[row - 1], place[row - 1] + 1) == (text[row], place[row])
