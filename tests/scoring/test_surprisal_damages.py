"""Damaged tables of surprisals: each word has its own value, or the table is refused."""

import numpy as np
import pandas as pd
import pytest
from test_plausible import TRUE, WORDS

from recency.errors import REFUSALS
from recency.scoring import surprisal_table

pytestmark = pytest.mark.merge

FRAME = WORDS.assign(place=WORDS.groupby("item", sort=False).cumcount() + 1, bits=np.round(TRUE, 6))
NATS = np.log(2)


def shifted(frame, column="bits", by=1):
    return frame.assign(**{column: frame[column].shift(by)}).dropna()


#: damage → (table, unit that it is declared to be in, whether its values can be had)
DAMAGES = {
    "none": (FRAME, "bits", True),
    "word_id from 1": (FRAME.assign(word_id=FRAME.word_id + 1), "bits", True),
    "positions from 2": (FRAME.assign(place=FRAME.place + 1), "bits", True),
    "positions from 0": (FRAME.assign(place=FRAME.place - 1), "bits", True),
    "rows in another order": (FRAME.sample(frac=1, random_state=2), "bits", True),
    "nats as nats": (FRAME.assign(bits=TRUE * NATS), "nats", True),
    "nats as bits": (FRAME.assign(bits=TRUE * NATS), "bits", False),
    "bits as nats": (FRAME, "nats", False),
    "log10 as bits": (FRAME.assign(bits=TRUE / np.log2(10)), "bits", False),
    "bits as log10": (FRAME, "log10", False),
    "probabilities": (FRAME.assign(bits=2.0**-TRUE), "bits", False),
    "zeros": (FRAME.assign(bits=0.0), "bits", False),
    "one value": (FRAME.assign(bits=7.3), "bits", False),
    "one row on": (shifted(FRAME), "bits", False),
    "one row back": (shifted(FRAME, by=-1), "bits", False),
    "two rows on": (shifted(FRAME, by=2), "bits", False),
    "below 0": (FRAME.assign(bits=-TRUE), "bits", False),
}
KEYS = {
    "word_id": {"word_id": "word_id"},
    "place": {"item": "item", "position": "place"},
    "place and word": {"item": "item", "position": "place", "word": "word"},
    "words": {"item": "item", "word": "word"},
}


@pytest.mark.parametrize("keys", KEYS)
@pytest.mark.parametrize("damage", DAMAGES)
def test_values_are_their_words_or_refused(tmp_path, damage, keys):
    frame, unit, is_right = DAMAGES[damage]
    if damage == "rows in another order" and keys == "words":
        is_right = False
    WORDS.to_parquet(tmp_path / "words.parquet")
    frame.to_csv(tmp_path / "table.csv", index=False)
    paths = {"words": tmp_path / "words.parquet", "table": tmp_path / "table.csv"}
    columns = KEYS[keys] | {"surprisal": "bits"}
    out = tmp_path / "out.parquet"
    if not is_right:
        with pytest.raises(REFUSALS) as refused:
            surprisal_table.main(**paths, out=out, columns=columns, unit=unit, lm="x", dataset="d")
        assert "\n" not in str(refused.value)
        return
    surprisal_table.main(**paths, out=out, columns=columns, unit=unit, lm="x", dataset="d")
    found = pd.read_parquet(out)["surprisal_bits"]
    np.testing.assert_allclose(found[found.notna()], TRUE[found.notna()], atol=1e-5)
    assert found.notna().mean() > 0.99


def test_other_sentences_and_a_tolerance_do_not_join(tmp_path):
    """Sentences of the table are others, numbered from 0; `missing` does not make them the words'."""
    new = (np.arange(len(WORDS)) % 37 == 0) | (FRAME.place == 1).to_numpy()
    sentence = np.cumsum(new) - 1
    table = FRAME.assign(sentence=sentence)
    table["position"] = table.groupby("sentence").cumcount() + 1
    table.to_csv(tmp_path / "table.csv", index=False)
    columns = {"sentence": "sentence", "position": "position", "surprisal": "bits"}
    try:
        made = surprisal_table.score(WORDS, tmp_path / "table.csv", columns=columns, missing=0.25)
    except REFUSALS as error:
        assert "missing:" not in str(error)
    else:
        np.testing.assert_allclose(made.table["surprisal_bits"], TRUE, atol=1e-5)
    table[table.sentence > 3].to_csv(tmp_path / "table.csv", index=False)
    with pytest.raises(REFUSALS) as refused:
        surprisal_table.score(WORDS, tmp_path / "table.csv", columns=columns, missing=0.25)
    assert "missing:" not in str(refused.value) and "`word`" in str(refused.value)
