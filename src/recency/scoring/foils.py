"""Surprisal of foils, the alternatives to each word in a maze task.

Words (contract 1) may have a column `foil`, null where no foil is offered. A causal LM scores a
foil after the context before the word; a masked LM scores it in the word's position, with the text
on both sides. An LM chooses the word with the lower surprisal (thesis, chapter 11).
"""

from collections.abc import Callable

import numpy as np
import pandas as pd

from recency.errors import InputError

FOIL = "foil"
#: Boolean column of the texts: which words are foils, so that only those are scored.
SCORED = "scored"
#: Column of contract 3 with the foils' surprisal.
COLUMN = "foil_surprisal_bits"


def build_texts(
    words: pd.DataFrame, whole: bool = False
) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Build a text for each foil.

    Parameters
    ----------
    words : DataFrame
        Contract 1 with a column `foil`.
    whole : bool
        Whether a text also has the words after the foil.

    Returns
    -------
    DataFrame
        Contract 1: texts with one foil each.
    ndarray (foils,)
        Row of each foil in these texts.
    ndarray (foils,)
        Row of its word in `words`.

    Raises
    ------
    InputError
        For a foil with a space in it.
    """
    has = words[FOIL].notna().to_numpy()
    if (odd := has & ~words[FOIL].str.fullmatch(r"\S+").fillna(False).to_numpy(bool)).any():
        row = words[odd].iloc[0]
        raise InputError(
            f"the foil of word {row.word_id} ({row.word!r}, item {row['item']}) is {row[FOIL]!r}: it is "
            "one word without a space, or empty for a word without a foil"
        )
    rows, places, owners = [], [], []
    for item in words.groupby("item", sort=False).indices.values():
        for position in np.flatnonzero(has[item]):
            rows.append(item if whole else item[: position + 1])
            places.append(position)
            owners.append(item[position])
    if not rows:
        return words.iloc[:0].drop(columns=FOIL), np.zeros(0, int), np.zeros(0, int)
    sizes = np.array([len(indices) for indices in rows])
    table = words.iloc[np.concatenate(rows)].drop(columns=FOIL).reset_index(drop=True)
    text = np.repeat(np.arange(len(rows)), sizes)
    at = np.append(0, np.cumsum(sizes)[:-1]) + places
    table["item"] = text.astype(str)
    # Sentence numbers are unique across texts.
    sentence = text * (int(table["sentence"].max()) + 1) + table["sentence"]
    table["sentence"] = pd.factorize(sentence)[0]
    table["word_id"] = np.arange(len(table))
    table.loc[at, "word"] = words[FOIL].to_numpy()[owners]
    table[SCORED] = np.isin(np.arange(len(table)), at)
    return table, at, np.array(owners)


def surprisal(
    words: pd.DataFrame, score: Callable[[pd.DataFrame], pd.DataFrame], whole: bool = False
) -> np.ndarray:
    """Return the surprisal (words,) of each word's foil in bits, NaN without a foil.

    `score` maps words (contract 1) to their scores (contract 3); `whole` is that of `build_texts`.
    """
    bits = np.full(len(words), np.nan)
    table, at, owners = build_texts(words, whole)
    if len(owners):
        bits[owners] = score(table)["surprisal_bits"].to_numpy(float)[at]
    return bits
