"""Readings in which words affect the responses to later words, by known functions of lag or time."""

from dataclasses import replace

import numpy as np
import pandas as pd
from made_readers import DESIGN, files, parted, texts

from recency.reading.onsets import onsets
from recency.regression import fit as regression
from recency.regression.prediction import read_fit

LAGGED = DESIGN | {
    "formula": "time_ms ~ length + lags(surprisal, 4) + (1 | subject) + (1 | sentence)"
}
TRUE_LAGS = np.array([4.0, 3.0, 1.5, 0.7, 0.3])


def kernel_design(kernel, inner="surprisal"):
    term = f"deconvolve({inner}, kernel = {kernel})"
    return DESIGN | {"formula": f"time_ms ~ length + {term} + (1 | subject)", "of_interest": [term]}


def made(folder, effect, subjects=14, sentences=90, pace=(300.0, 40.0), seed=3, items=9, mean=None):
    """Write readings in which `effect(lags, seconds, bits)` is what the words so far add to a time.

    Each word's onset is that of the word before plus its time; bits are minus their `mean`.
    """
    words = texts(folder, sentences, seed, items)
    random = np.random.default_rng(seed)
    mean = words.bits.mean() if mean is None else mean
    item, bits = words["item"].to_numpy(), words.bits.to_numpy() - mean
    first = np.array([np.flatnonzero(item == each)[0] for each in item])
    length = words.word.str.len().to_numpy()
    rows = []
    for subject in range(subjects):
        own, onset = random.normal(0, 30), np.zeros(len(words))
        for w in range(len(words)):
            if w > first[w]:
                onset[w] = onset[w - 1] + rows[-1][2]
            so_far = np.arange(first[w], w + 1)
            added = effect(w - so_far, (onset[w] - onset[so_far]) / 1000, bits[so_far])
            time = pace[0] + own + added + 4 * length[w] + random.normal(0, pace[1])
            rows.append((f"s{subject:02}", w, max(time, 60.0)))
    rows = pd.DataFrame(rows, columns=["subject", "word_id", "time_ms"]).astype(
        {"word_id": "int32"}
    )
    parted(folder, rows, words)
    plain = pd.read_parquet(folder / "words.parquet")
    onsets(plain, rows, "made.SPR").to_parquet(folder / "onsets.parquet", index=False)
    return rows


def by_lag(lags, _, bits):
    near = lags < len(TRUE_LAGS)
    return (TRUE_LAGS[lags[near]] * bits[near]).sum()


def fitted(folder, design, model="full", **more):
    path = folder / f"{model}.json"
    inputs = replace(files(folder), onsets=folder / "onsets.parquet")
    regression.main(inputs, path, lm="lm", design=design, model=model, confirm=False, **more)
    return read_fit(path)
