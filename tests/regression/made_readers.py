"""Readers of made words, whose times or skipping follow known effects of surprisal."""

import numpy as np
import pandas as pd

from recency.regression.inputs import Inputs

DESIGN = {
    "of_interest": ["surprisal"],
    "base": "all",
    "engine": "cross_products",
    "response": "raw",
    "surprisal": "plain",
}
MIXED = DESIGN | {
    "formula": "time_ms ~ length + surprisal + (1 | subject) + (1 | sentence)",
}


def texts(folder, sentences=40, seed=0, items=8):
    """Write words and surprisal; return the table of words with `bits`."""
    random = np.random.default_rng(seed)
    position = np.concatenate([np.arange(1, n + 1) for n in random.integers(6, 11, sentences)])
    sentence = np.cumsum(position == 1) - 1
    n = len(position)
    words = pd.DataFrame(
        {
            "item": [f"story {s * items // sentences}" for s in sentence],
            "sentence": sentence.astype(np.int32),
            "position": position.astype(np.int32),
            "word_id": np.arange(n, dtype=np.int32),
            "word": ["w" * k for k in random.integers(1, 11, n)],
        }
    )
    folder.mkdir(exist_ok=True)
    words.to_parquet(folder / "words.parquet", index=False)
    words["bits"] = random.gamma(3, 2.5, n)
    surprisal = words[["word_id"]].assign(surprisal_bits=words.bits, corrected_bits=np.nan)
    surprisal.to_parquet(folder / "lm.parquet", index=False)
    return words


def readings(words, effect, subjects=16, seed=0, residual=40.0, spread=30.0):
    """Return every subject's time of every word: `effect` (a function of bits) and what varies."""
    random = np.random.default_rng(seed)
    n = len(words)
    subject, word = np.divmod(np.arange(subjects * n), n)
    time = 300 + effect(words.bits.to_numpy()[word]) + 4 * words.word.str.len().to_numpy()[word]
    time = time + random.normal(0, spread, subjects)[subject]
    time += random.normal(0, 15, words.sentence.nunique())[words.sentence.to_numpy()[word]]
    time += random.normal(0, residual, len(word))
    names = [f"s{s:02}" for s in subject]
    return pd.DataFrame({"subject": names, "word_id": word.astype("int32"), "time_ms": time})


def parted(folder, rows, words):
    """Write the rows as fit.parquet and exploratory.parquet, by subject and sentence."""
    rows = rows.assign(previous_fixated=None)
    sentence = words.sentence.to_numpy()[rows.word_id]
    part = (rows.subject.str[1:].astype(int) + sentence) % 3
    rows[part < 2].to_parquet(folder / "fit.parquet", index=False)
    rows[part == 2].to_parquet(folder / "exploratory.parquet", index=False)


def files(folder, exploratory=True, lm=True):
    """Return the files that a regression reads."""
    return Inputs(
        words=folder / "words.parquet",
        fit=folder / "fit.parquet",
        exploratory=folder / "exploratory.parquet" if exploratory else None,
        surprisal=folder / "lm.parquet" if lm else None,
    )


def columns(folder, partition="fit"):
    """Return a partition's rows with the columns of a formula, made with pandas alone."""
    words = pd.read_parquet(folder / "words.parquet")
    words["surprisal"] = pd.read_parquet(folder / "lm.parquet").surprisal_bits
    words["length"] = words.word.str.len().astype(float)
    rows = pd.read_parquet(folder / f"{partition}.parquet").drop(columns="previous_fixated")
    rows = rows.join(
        words.set_index("word_id")[["sentence", "item", "length", "surprisal"]], on="word_id"
    )
    return rows.astype({"sentence": str}).reset_index(drop=True)
