"""Information beyond the last words: texts whose dependence is known, and networks whose memory is limited."""

import itertools

import numpy as np
import pandas as pd
import pytest

from project import show
from recency.errors import InputError
from recency.evaluations.context_information import score, view
from recency.figures.comparison import LM
from recency.networks import architectures
from recency.scoring.surprisal import Model, score_words
from small_networks import NONE, TINY, byte_tokenizer

WORDS = np.array(["a", "bee", "sees", "the", "hill", "under", "which", "it"])
LAG = 6


def repeating(items=3, length=160, repeat=0.75, seed=0):
    """Return texts in which a word is the one `LAG` words before it, with a probability, or any."""
    random, rows = np.random.default_rng(seed), []
    for item in range(items):
        drawn = random.integers(len(WORDS), size=length)
        for place in range(LAG, length):
            if random.random() < repeat:
                drawn[place] = drawn[place - LAG]
        rows += [(str(item), word) for word in WORDS[drawn]]
    return pd.DataFrame(rows, columns=["item", "word"])


def knowing(memory, weight=0.75):
    """Return the exact surprisal of these texts by a reader of the last `memory` words."""

    def scored(texts):
        bits = np.zeros(len(texts))
        for rows in texts.groupby("item", sort=False).indices.values():
            words = texts["word"].to_numpy()[rows]
            for place, word in enumerate(words):
                p = 1 / len(WORDS)
                if memory >= LAG and place >= LAG:
                    p = weight * (word == words[place - LAG]) + (1 - weight) * p
                bits[rows[place]] = -np.log2(p)
        return bits, np.ones(len(texts), int)

    return scored


def beyond(scored, number=250, context=30, seed=1):
    texts = score.contexts(repeating(), number, context, seed)
    return view.beyond([score.information(texts, scored)]).set_index("kept")


def test_a_context_ends_with_its_word():
    words = repeating(items=2, length=40)
    texts = score.contexts(words, 10, 12, 3)
    assert list(texts.kept.unique()) == [1, 2, 3, 5, 10, 12] and texts.place.nunique() == 10
    items = {name: list(rows.word) for name, rows in texts.groupby("item")}
    for place in range(10):
        whole = items[f"{place}.12"]
        assert len(whole) == 13
        for kept in (1, 2, 3, 5, 10):
            assert items[f"{place}.{kept}"] == whole[-kept - 1 :]
    again = score.contexts(words, 10, 12, 3)
    pd.testing.assert_frame_equal(texts, again)
    # A context is never from two texts: ten words have one of 35 words.
    assert score.contexts(words, 10, 1000, 3).kept.max() == 35


def test_the_information_of_a_known_dependence():
    """The word 6 words before is worth about 1.5 bits, to readers who remember it and to no other."""
    whole = knowing(50)
    found = beyond(whole)
    entropy = 3.0 - found.bits[0]
    assert 1.2 < entropy < 1.8
    for kept in (1, 2, 3, 5):
        assert found.bits[kept] == pytest.approx(entropy, abs=1e-9)
        assert found.low[kept] < found.bits[kept] < found.high[kept] and found.low[kept] > 1
    for kept in (10, 20):
        assert found.bits[kept] == 0 == found.low[kept] == found.high[kept]
    assert (beyond(knowing(LAG - 1)).bits[[1, 2, 3, 5, 10, 20]] == 0).all()


def test_less_context_is_less_memory():
    """Readers of the last 3, 6 and 50 words are in this order at each k, though the last decline alike."""
    by_memory = [beyond(knowing(memory)).bits[[1, 2, 3, 5, 10]] for memory in (3, 6, 50)]
    for shorter, longer in itertools.pairwise(by_memory):
        assert (shorter <= longer).all()
    assert by_memory[0].sum() < by_memory[1].sum()


@pytest.mark.parametrize("width", [4, 14])
def test_a_network_with_a_window_takes_nothing_from_beyond_it(width):
    """Two layers of a window of w tokens see 2 (w - 1) tokens back: earlier words are worth nothing."""
    bias = {"form": "window", "width": width, "layers": "all"}
    model = Model(architectures.new(TINY, bias, 512, 0).eval(), byte_tokenizer())
    texts = score.contexts(repeating(items=2, length=60), 12, 20, 1)

    def scored(texts):
        table = score_words(texts.drop(columns=["place", "kept"]), model).table
        return table["surprisal_bits"].to_numpy(float), table["tokens"].to_numpy()

    changes = score.information(texts, scored).pivot(index="place", columns="kept", values="bits")
    tokens = pd.Series(scored(texts)[1]).groupby([texts.kept, texts.place]).sum()
    seen = {kept: tokens[kept].min() > 2 * (width - 1) + 1 for kept in changes}
    assert not seen[1] and seen[20]
    for kept in changes:
        assert np.allclose(changes[kept], changes[20], atol=1e-4) == seen[kept], kept


def test_texts_that_are_too_short_are_refused():
    words = pd.DataFrame({"item": ["1", "1", "2"], "word": ["a", "bee", "sees"]})
    with pytest.raises(InputError, match="longest text has 2 words"):
        score.contexts(words, 5, 10, 1)


def test_one_longest_text_does_not_leave_its_last_word_alone():
    lengths = [*range(20, 60), 80]
    item = np.repeat(np.arange(len(lengths)), lengths).astype(str)
    words = pd.DataFrame({"item": item, "word": "w"})
    found = score.contexts(words, number=200, context=100, seed=1)
    before = words.groupby("item").cumcount()
    kept = found.kept.max()
    assert found.place.nunique() == 200 <= (before >= kept).sum()
    assert (before > kept).sum() < 200
    assert score.contexts(words, number=200, context=40, seed=1).kept.max() == 40


def test_a_word_with_other_tokens_or_no_value_is_left_out():
    def scored(texts):
        bits, tokens = knowing(50)(texts)
        bits[(texts.place == 3) & (texts.kept == 2)] = np.nan
        return bits, np.where((texts.place == 5) & (texts.kept == 1), 2, tokens)

    found = score.information(score.contexts(repeating(), 10, 20, 1), scored)
    assert set(found.place) == set(range(10)) - {3, 5}


def test_seeds_are_the_mean_and_widen_the_interval():
    texts = score.contexts(repeating(), 100, 20, 1)
    tables = [score.information(texts, knowing(50, weight)) for weight in (0.4, 0.75)]
    first, second = (view.beyond([one]).set_index("kept") for one in tables)
    both = view.beyond(tables).set_index("kept")
    assert both.bits[1] == pytest.approx((first.bits[1] + second.bits[1]) / 2)
    assert both.high[1] - both.low[1] > first.high[1] - first.low[1]
    with pytest.raises(InputError, match="different words"):
        view.beyond([tables[0], tables[1][tables[1].place > 0]])


def test_the_figure_and_the_table(tmp_path):
    texts = score.contexts(repeating(), 60, 20, 1)
    lms, paths = [], []
    for memory in (3, 50):
        score.information(texts, knowing(memory)).to_parquet(tmp_path / f"{memory}.parquet")
        paths.append(tmp_path / f"{memory}.parquet")
        lms.append(
            {"lm": f"m{memory}", "label": f"memory {memory}", "bias": NONE, "applied": "none"}
        )
    show(view.figure_context_information, predictions=paths, out=[tmp_path / "figure.csv"], lms=lms)
    show(view.table_context_information, predictions=paths, out=[tmp_path / "table.csv"], lms=lms)
    drawn = pd.read_csv(tmp_path / "figure.csv")
    assert list(drawn.kept) == [1, 2, 3, 5, 10, 0] * 2 and set(drawn.lm) == {"m3", "m50"}
    cells = view.layout(
        drawn, [LM("m3", "memory 3", NONE, "none"), LM("m50", "memory 50", NONE, "none")]
    )
    assert [cell.text for cell in cells.header[0]][:4] == ["LM", "Surprisal", "k = 1", "k = 2"]
    assert cells.rows[1][2].text == f"{drawn.bits[6]:.2f}"
