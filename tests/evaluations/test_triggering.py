"""Word triggering against a plain count, on texts whose answer is known."""

import numpy as np
import pandas as pd
import pytest

from project import show
from recency.errors import InputError
from recency.evaluations.triggering import count, view

WORDS = ["she", "he", "hill", "under", "goes"]


def by_hand(documents, first, second, distances):
    """Return c_d over a bin of distances, counted pair by pair."""
    together = places = 0
    for words in documents:
        for at, word in enumerate(words):
            for d in distances:
                if at + d < len(words):
                    places += 1
                    together += word == first and words[at + d] == second
    every = [word for words in documents for word in words]
    share = (every.count(first) / len(every)) * (every.count(second) / len(every))
    return together / places / share


def test_counts_are_those_of_a_plain_loop():
    random = np.random.default_rng(1)
    documents = [list(random.choice(WORDS, size)) for size in (3, 40, 90)]
    pairs = [["she", "she"], ["he", "hill"]]
    counts = count.counted([" ".join(d) for d in documents], pairs, reach=30)
    table = count.ratios(counts, pairs)
    assert list(table.distance_to[:10]) == [*range(1, 10), 10] and table.distance_to.max() == 30
    for row in table.itertuples():
        asked = range(row.distance, row.distance_to + 1)
        assert row.times == pytest.approx(by_hand(documents, row.first, row.second, asked))


def test_a_word_that_comes_each_seventh_place_is_found_there_alone():
    text = " ".join("she" if place % 7 == 0 else "goes" for place in range(7000))
    counts = count.counted([text] * 3, [["she", "she"]], reach=9)
    table = count.ratios(counts, [["she", "she"]]).set_index("distance")
    assert table.times[7] == pytest.approx(7, rel=0.01)
    assert (table.times.drop(7) == 0).all()
    assert table.low[7] == pytest.approx(table.high[7])  # the documents are alike


def test_words_without_ties_are_at_chance():
    random = np.random.default_rng(2)
    documents = [" ".join(random.choice(WORDS, 5000)) for _ in range(20)]
    table = count.ratios(count.counted(documents, [["he", "she"]], 200), [["he", "she"]])
    assert np.abs(table.times - 1).max() < 0.1
    assert ((table.low < 1) & (1 < table.high)).mean() > 0.8


def test_case_and_punctuation_don_t_count():
    counts = count.counted(["She, she! He’s “she” 42."], [["she", "he's"]], 3)
    assert counts["words"].tolist() == [[1, 3]] and counts["sizes"].tolist() == [4]


def test_a_word_that_is_not_there_is_refused(tmp_path):
    path = tmp_path / "text.parquet"
    pd.DataFrame({"document": ["a"], "text": ["she goes"]}).to_parquet(path)
    with pytest.raises(InputError, match="no word 'hill'"):
        count.main(path, tmp_path / "out.csv", [["she", "Hill"]], 10)


def test_figure_of_two_pairs(tmp_path):
    random = np.random.default_rng(2)
    frame = pd.DataFrame({"document": ["a", "b"]})
    frame["text"] = [" ".join(random.choice(WORDS, 3000)) for _ in range(2)]
    frame.to_parquet(tmp_path / "text.parquet")
    count.main(tmp_path / "text.parquet", tmp_path / "t.csv", [["she", "she"], ["he", "hill"]], 100)
    view.figure_triggering(
        counts=tmp_path / "t.csv", out=[tmp_path / f"f.{end}" for end in ("svg", "csv")]
    )
    assert len(pd.read_csv(tmp_path / "f.csv")) == len(pd.read_csv(tmp_path / "t.csv"))


def test_text_and_lms_are_compared_relative_to_two_to_five_words(tmp_path):
    """Powers of two halve where they are known to; a pair below chance and a flat LM are named."""
    distance = np.arange(1, 200)

    def counts_of(word, log2):
        rows = pd.DataFrame({"first": "she", "second": word, "distance": distance})
        rows = rows.assign(distance_to=distance, times=2.0**log2, together=9)
        return rows.assign(low=rows.times, high=rows.times)

    fading = 4 * 2 ** (-distance / 20)
    counts = pd.concat([counts_of("she", fading), counts_of("he", -fading)])
    counts.to_csv(tmp_path / "counts.csv", index=False)
    lives = {"short": 5, "long": 40}
    memories = pd.concat(
        pd.DataFrame({"lm": lm, "distance": distance, "change_bits": 3 * 2 ** (-distance / h)})
        for lm, h in lives.items()
    )
    memories.to_csv(tmp_path / "memories.csv", index=False)
    states = pd.concat(
        pd.DataFrame({"lm": lm, "layer": layer, "distance": distance, "shuffled": 0.1, "correlation": 0.1 + own * (layer == 2) * 2 ** (-distance / h)})
        for (lm, h), own in zip(lives.items(), (0.5, 0.0)) for layer in (1, 2)
    )  # fmt: skip
    states.to_csv(tmp_path / "states.csv", index=False)
    lms = [{"lm": lm, "label": lm, "bias": {"form": "none"}, "applied": "none"} for lm in lives]
    out = [tmp_path / "f.svg", tmp_path / "f.csv"]
    show(view.figure_retention, 
        counts=tmp_path / "counts.csv", memories=tmp_path / "memories.csv",
        correlations=tmp_path / "states.csv", out=out, lms=[*lms, lms[0]],
    )  # fmt: skip
    lines = pd.read_csv(out[1])
    half = lines.groupby(["source", "lm"]).half_left_words.first()
    for (source, name), life in {
        ("triggering", "she … she"): 20,
        ("measured_memory", "short"): 5,
        ("measured_memory", "long"): 40,
        ("temporal_correlation", "short"): 5,
    }.items():
        start = np.mean(2.0 ** (-np.arange(2, 6) / life))
        expected = -life * np.log2(start / 2)  # half of the mean at 2 to 5 words
        assert half[source, name] == pytest.approx(expected, rel=0.06), (source, name)
    assert len(half) == 4
    assert "she … he, long (temporal correlation)" in out[0].read_text(encoding="utf-8")
