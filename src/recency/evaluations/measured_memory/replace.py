"""Texts in which one word is replaced, with the same words before and after it."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from recency.errors import InputError

TRIES = 50  # draws of a replacement before a position is given up


@dataclass(frozen=True)
class Replaced:
    """Pairs of texts that differ in one word each.

    `texts` (contract 1) has two items per position: the original text, then the text with the other
    word. `first` are the rows of `texts` after the word in the original, `again` in the other text;
    `place` and `distance` (words, 1 for the next word) of each row.
    """

    texts: pd.DataFrame
    first: np.ndarray
    again: np.ndarray
    place: np.ndarray
    distance: np.ndarray
    reach: int


def replaced(
    words: pd.DataFrame, tokens: np.ndarray, replacements: int, reach: int, before: int, seed: int
) -> Replaced:
    """Draw `replacements` words of `words` (contract 1), and a replacement for each from the same texts.

    `tokens` (words,) is the number of tokens of each word for the LM. The replacement has the same
    number, so that later words keep their positions; LMs with the same tokenizer get the same
    words. A position has `reach` words after it in its item, or as many as the longest item allows.
    Raises InputError if there are fewer than two positions.
    """
    random = np.random.default_rng(seed)
    position = words.groupby("item", sort=False).cumcount().to_numpy()
    length = words.groupby("item", sort=False)["word"].transform("size").to_numpy()
    reach = min(reach, int(length.max()) - 1)
    possible = np.flatnonzero(length - position > reach) if reach > 0 else np.array([], int)
    order = random.permutation(possible)
    draws = random.integers(len(words), size=(len(order), TRIES))
    lower = words["word"].str.lower().to_numpy()
    parts, rows, used = [], [], 0
    for row, drawn in zip(order, draws, strict=True):
        if used == replacements:
            break
        fits = (tokens[drawn] == tokens[row]) & (lower[drawn] != lower[row])
        if not fits.any():
            continue  # no replacement for this word: try the next position
        other = drawn[np.argmax(fits)]
        start = row - min(before, position[row])
        text = words.iloc[start : row + reach + 1]
        for version in (text["word"], text["word"].where(text.index != words.index[row])):
            filled = version.fillna(words["word"].iloc[other])
            parts.append(text.assign(word=filled, item=f"{used}.{len(parts) % 2}"))
        rows.append((int(row - start), len(text)))
        used += 1
    if used < 2:
        raise InputError(
            f"{used} of {len(words):,} words can be replaced with {reach} words after them: the "
            "texts are too short or have too few words of equal length; lower `reach`, or use other texts"
        )
    texts = pd.concat(parts, ignore_index=True)
    texts = texts.assign(
        word_id=np.arange(len(texts), dtype=np.int32),
        position=texts.groupby("item", sort=False).cumcount().to_numpy(np.int32) + 1,
    )
    starts = np.cumsum([0] + [2 * size for _, size in rows])[:-1]
    distance = np.arange(1, reach + 1)
    first = np.concatenate([s + at + distance for s, (at, _) in zip(starts, rows)])
    again = np.concatenate([s + size + at + distance for s, (at, size) in zip(starts, rows)])
    place_index = np.repeat(np.arange(used), reach)
    return Replaced(texts, first, again, place_index, np.tile(distance, used), reach)


def changes(
    words: pd.DataFrame,
    tokens: np.ndarray,
    score: Callable[[pd.DataFrame], tuple[np.ndarray, np.ndarray]],
    replacements: int,
    reach: int,
    before: int,
    seed: int,
) -> pd.DataFrame:
    """Return place, distance (words) and change_bits (surprisal after the replacement minus before).

    `score` returns the surprisal of a table of words in bits, NaN where missing, and the tokens of
    each. A position is excluded if the replacement has another number of tokens in its context.
    """
    pairs = replaced(words, tokens, replacements, reach, before, seed)
    bits, read = score(pairs.texts)
    same = pd.Series(read[pairs.first] == read[pairs.again]).groupby(pairs.place).transform("all")
    table = pd.DataFrame(
        {
            "place": pairs.place.astype(np.int32),
            "distance": pairs.distance.astype(np.int32),
            "change_bits": bits[pairs.again] - bits[pairs.first],
        }
    )
    return table[same.to_numpy() & table.change_bits.notna()].reset_index(drop=True)
