"""Damaged tables are joined to the true words, or refused: never a value on another word."""

import numpy as np
import pytest
from join_damages import DAMAGES, OF_KEYS, OF_WORDS, VIEWS, check

from recency.reading.contracts import word_table


def made_corpus(seed=5, texts=6):
    """Make texts of words of many lengths; values follow length and frequency, as surprisals do."""
    rng = np.random.default_rng(seed)
    vocabulary = [
        "".join(rng.choice(list("abcdefghiklmnoprst"), n)) for n in rng.integers(1, 12, 900)
    ]
    share = 1 / np.arange(1, 901)
    share /= share.sum()
    items, sentences, words, number = [], [], [], 0
    for text in range(1, texts + 1):
        for _ in range(int(rng.integers(8, 14))):
            number += 1
            chosen = rng.choice(900, int(rng.integers(5, 19)), p=share)
            spelled = [vocabulary[c] for c in chosen]
            spelled[-1] += "."
            items += [str(text)] * len(spelled)
            sentences += [number] * len(spelled)
            words += spelled
    frame = word_table(items, sentences, words)
    count = frame.groupby("word")["word"].transform("size")
    value = np.log2(len(frame) / count) + 0.3 * frame.word.str.len() + rng.normal(0, 1, len(frame))
    return frame, value.clip(lower=0.1)


WORDS, VALUE = made_corpus()


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("damage", DAMAGES)
def test_no_damage_passes(damage, view):
    if damage in OF_WORDS and "word" not in VIEWS[view]:
        pytest.skip("only words show this")
    if damage in OF_KEYS and VIEWS[view] in (["word"], ["item", "word"]):
        pytest.skip("the words are the only keys")
    for kind in ("surprisal", None)[: 1 if damage in OF_KEYS else 2]:
        share = check(WORDS, VALUE, damage, view, kind)
        if damage == "nothing":
            assert share == 1


def test_there_are_enough_damages():
    assert len(DAMAGES) >= 40
