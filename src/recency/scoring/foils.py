"""Surprisal of each word's foil, the other word that a maze offers in its place.

Words (contract 1) may have a column `foil`, null where nothing is offered. An LM of left context
scores the foil behind all that stands before the word; a masked LM, which reads what comes after as
well, scores it in the word's place. The thesis's chapter 11: an LM chooses the word of less surprisal.
"""

from collections.abc import Callable

import numpy as np
import pandas as pd

from recency.errors import InputError

FOIL = "foil"
#: Column of the texts that says which of their words are foils: estimates of others are not needed.
SCORED = "scored"
#: The column of contract 3 that words with foils get.
COLUMN = "foil_surprisal_bits"


def texts(words: pd.DataFrame, whole: bool = False) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Return texts with one foil each (contract 1), where it stands in them, and the row of its word.

    A text is what its item has before the word, with `whole` what it has behind it as well. Raises
    InputError for a foil with a space in it.
    """
    has = words[FOIL].notna().to_numpy()
    if (odd := has & ~words[FOIL].str.fullmatch(r"\S+").fillna(False).to_numpy(bool)).any():
        row = words[odd].iloc[0]
        raise InputError(
            f"the foil of word {row.word_id} ({row.word!r}, item {row['item']}) is {row[FOIL]!r}: it is "
            "one word without a space, or empty where nothing is offered"
        )
    rows, places, owners = [], [], []
    for item in words.groupby("item", sort=False).indices.values():
        for place in np.flatnonzero(has[item]):
            rows.append(item if whole else item[: place + 1])
            places.append(place)
            owners.append(item[place])
    if not rows:
        return words.iloc[:0].drop(columns=FOIL), np.zeros(0, int), np.zeros(0, int)
    sizes = np.array([len(each) for each in rows])
    made = words.iloc[np.concatenate(rows)].drop(columns=FOIL).reset_index(drop=True)
    text = np.repeat(np.arange(len(rows)), sizes)
    at = np.append(0, np.cumsum(sizes)[:-1]) + places
    made["item"] = text.astype(str)
    # A sentence of an item is one of its own in each text.
    made["sentence"] = pd.factorize(text * (int(made["sentence"].max()) + 1) + made["sentence"])[0]
    made["word_id"] = np.arange(len(made))
    made.loc[at, "word"] = words[FOIL].to_numpy()[owners]
    made[SCORED] = np.isin(np.arange(len(made)), at)
    return made, at, np.array(owners)


def surprisal(
    words: pd.DataFrame, score: Callable[[pd.DataFrame], pd.DataFrame], whole: bool = False
) -> np.ndarray:
    """Return the surprisal (words,) of each word's foil in bits, NaN where there is none.

    `score` gives contract 3 of words (contract 1); `whole` is that of `texts`.
    """
    found = np.full(len(words), np.nan)
    made, at, owners = texts(words, whole)
    if len(owners):
        found[owners] = score(made)["surprisal_bits"].to_numpy(float)[at]
    return found
