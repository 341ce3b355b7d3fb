"""A response to several words: the sum of their surprisal, the first one's position."""

import numpy as np
import pandas as pd

from readingtimes.contracts import word_table
from recency.reading import observations
from recency.regression import predictors
from recency.regression.coding import values_over_span
from recency.regression.texts import read_texts


def test_a_region_has_the_sum_of_its_words(tmp_path):
    words = word_table(["a"] * 8, [1] * 8, list("abcdefgh"))
    words.to_parquet(tmp_path / "words.parquet")
    bits = np.array([0.1, 0.2, 0.3, 0.4, 5.0, 6.0, 7.0, 8.0])
    pd.DataFrame({"word_id": range(8), "surprisal_bits": bits}).to_parquet(tmp_path / "s.parquet")
    times = pd.DataFrame({"subject": "p", "word_id": [0, 3, 6], "time_ms": 300.0})
    times.assign(span=np.int32([3, 1, 2])).to_parquet(tmp_path / "r.parquet")
    observations.main(
        words=tmp_path / "words.parquet",
        responses=tmp_path / "r.parquet",
        filters=[],
        out_fit=tmp_path / "fit.parquet",
        out_counts=tmp_path / "counts.csv",
    )
    texts = read_texts(tmp_path / "words.parquet", None, tmp_path / "s.parquet")
    names = ["surprisal", "length", "position", "previous_surprisal"]
    rows = predictors.read_rows(tmp_path / "fit.parquet", texts, names)
    assert rows.predictors["surprisal"].tolist() == [0.1 + 0.2 + 0.3, 0.4, 15.0]
    assert rows.predictors["length"].tolist() == [3, 1, 2]
    assert rows.predictors["position"].tolist() == [1, 4, 7]
    assert rows.predictors["previous_surprisal"].tolist() == [0, 0.3, 6.0]


def test_a_word_that_lacks_makes_its_region_lack():
    values = np.array([np.nan, 1.0, 2.0])
    frame = pd.DataFrame({"word_id": [0, 1], "span": [2, 2]})
    found = values_over_span("surprisal", values, frame)
    assert np.isnan(found[0]) and found[1] == 3.0
    assert values_over_span("surprisal", values, frame.drop(columns="span"))[1] == 1.0
