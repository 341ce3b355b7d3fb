"""Data frames of words: in another order, with a row per reader, with white space around words."""

import pandas as pd
import pyarrow
import pytest

import recency
from recency.errors import InputError

WORDS = ["The", "old", "man", "went", "down", "to", "the", "river", "."]


@pytest.fixture(scope="module")
def lm():
    return recency.load("small-english")


@pytest.fixture(scope="module")
def right(lm):
    return recency.surprisal(" ".join(WORDS), lm).surprisal_bits.tolist()


def frame(words=WORDS, **more):
    return pd.DataFrame({"item": "s", "word": words}).assign(**more)


def test_white_space_around_words_is_no_part_of_them(lm, right):
    spaced = [f" {word}\t" for word in WORDS]
    for texts in (frame(spaced), [spaced]):
        found = recency.surprisal(texts, lm)
        assert found.surprisal_bits.tolist() == right and found.word.tolist() == WORDS


def test_words_are_scored_in_the_order_of_positions_and_returned_in_that_of_rows(lm, right):
    table = frame(position=range(1, 10)).sample(frac=1, random_state=3)
    found = recency.surprisal(table, lm)
    assert found.index.equals(table.index) and found.word.tolist() == table.word.tolist()
    assert found.sort_values("position").surprisal_bits.tolist() == right
    twice = pd.concat([frame(WORDS, sentence=n, position=range(9)) for n in (1, 2)])
    again = recency.surprisal(twice.reset_index(drop=True), lm)
    assert again.surprisal_bits.tolist()[:9] == pytest.approx(right, abs=1e-4)


def test_a_row_per_reader_is_refused(lm):
    readers = pd.concat([frame(reader=name) for name in ("r1", "r2")], ignore_index=True)
    with pytest.raises(InputError, match=r"same words of item 's' for several values of reader"):
        recency.surprisal(readers, lm)
    numbered = pd.concat([frame(rt=300 + n, position=range(9)) for n in (1, 2)], ignore_index=True)
    with pytest.raises(InputError, match=r"row 9: position 0 of item 's' is there twice \(9 such"):
        recency.surprisal(numbered, lm)
    parts = frame(part=[1] * 5 + [2] * 4)  # named like a reader, and is none
    assert len(recency.surprisal(parts, lm)) == 9


def test_positions_may_be_text_but_no_labels(lm, right):
    table = frame(position=[str(n) for n in range(6, 15)])  # 10 is not before 6
    mixed = table.sample(frac=1, random_state=3)
    assert recency.surprisal(mixed, lm).sort_index().surprisal_bits.tolist() == right
    with pytest.raises(InputError, match=r"row 0: position 'NP6' is no number"):
        recency.surprisal(table.assign(position="NP" + table.position), lm)


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (frame(position=range(1, 10)).drop(index=3), "no word before 'down', its position 5"),
        (frame([*WORDS[:7], "river%2C", "."]), "percent-encoding in river%2C"),
        (frame([*WORDS[:7], "cafÃ©", "."]), "UTF-8 read as another encoding"),
        (WORDS, "all 9 texts are a single word"),
        (frame(["The old man", "went down"]), "words have spaces, such as 'The old man'"),
    ],
)
def test_what_is_no_text_as_it_stands_is_warned_of(texts, said, lm, recwarn):
    recency.surprisal(frame(position=range(1, 10)), lm)
    assert not recwarn.list
    with pytest.warns(recency.InputWarning, match=said) as warned:
        recency.surprisal(texts, lm)
    assert {each.filename for each in warned} == {__file__}


class OfAnotherLibrary:
    """A data frame with Arrow's interface alone, as Polars and DuckDB have it."""

    def __init__(self, frame):
        self._table = pyarrow.Table.from_pandas(frame, preserve_index=False)
        self.columns = self._table.column_names

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


@pytest.mark.merge
def test_data_frames_of_other_libraries_are_read(lm, right):
    for table in (OfAnotherLibrary(frame()), pyarrow.Table.from_pandas(frame())):
        found = recency.surprisal(table, lm)
        assert found.surprisal_bits.tolist() == right and found.word.tolist() == WORDS
    page = recency.explore(OfAnotherLibrary(frame()), {"small": OfAnotherLibrary(found)})
    assert page._repr_html_() == recency.explore(frame(), {"small": found})._repr_html_()
