"""A made reading-time corpus: its words, and times that are as they should be."""

import numpy as np
import pandas as pd

from readingtimes.contracts import word_table


def corpus(items=6, sentences=12, length=9, seed=1):
    """Make texts of words of 1 to 9 letters, with capitals and full stops."""
    letters = np.random.default_rng(seed)
    rows = []
    for item in range(items):
        for sentence in range(sentences):
            for position in range(1, length + 1):
                word = "".join(letters.choice(list("aeimnorst"), letters.integers(1, 10)))
                word = word.capitalize() if position == 1 else word
                word += "." if position == length else ""
                rows.append((f"{item:02d}", item * sentences + sentence, word))
    return word_table(*zip(*rows, strict=True))


WORDS = corpus()


def times(shift=0, subjects=8, skips=True, spill=0.0, seed=2, words=WORDS):
    """Make times that go with the length of the word `shift` places on, and of the one before."""
    draw = np.random.default_rng(seed)
    length = words.word.str.len().to_numpy(dtype=float)
    base = 180 + 18 * np.roll(length, -shift) + spill * 18 * np.roll(length, 1 - shift)
    parts = []
    for subject in range(subjects):
        ms = (base * draw.lognormal(0, 0.35, len(words))).round()
        fixated = draw.random(len(words)) < np.clip(0.35 + 0.08 * np.roll(length, -shift), 0, 1)
        ms = ms * fixated if skips else ms
        parts.append(
            pd.DataFrame({"subject": f"{subject:02d}", "word_id": words.word_id, "time_ms": ms})
        )
    return pd.concat(parts, ignore_index=True)
