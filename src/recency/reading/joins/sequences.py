"""Align rows with words by characters in reading order, and texts by their words."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pandas as pd

from recency.reading.joins import characters
from recency.reading.joins import index as labels
from recency.reading.joins.index import Index

_NEAREST = 20
"""Missing words or rows at each end of a gap that its neighbours are compared with."""


def aligned(
    words: Index, rows: pd.DataFrame, text: np.ndarray, bounds: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Align the rows of each text with its words, by their characters.

    Parameters
    ----------
    words : Index
        The words, W of them.
    rows : DataFrame
        With `token` or `word`, and with what orders them (`reading_order`); of each `reader`, if
        there is such a column, by itself.
    text : ndarray of int64, shape (rows,)
        The text of each row, -1: none.
    bounds : ndarray of int64, shape (texts + 1,)
        First word of each text, and W.

    Returns
    -------
    row : ndarray of int64, shape (rows,)
        The word of each row's first visible character; -1: none.
    whole : ndarray of bool, shape (W,)
        Words that the rows spell completely, and in which they have nothing else.
    """
    given = rows["token" if "token" in rows else "word"].astype(str).to_numpy(dtype=object)
    ours = words.words["word"].tolist()
    order = reading_order(rows)
    reader = pd.factorize(rows["reader"])[0] if "reader" in rows else np.zeros(len(rows), np.int64)
    row, whole = np.full(len(rows), -1, np.int64), np.ones(len(ours), bool)
    touched = np.zeros(len(ours), bool)
    order = order[text[order] >= 0]
    group = reader[order] * (len(bounds) - 1) + text[order]
    sequence: dict[tuple, characters.Found] = {}
    for numbers in pd.Series(order).groupby(group, sort=False):
        at = numbers[1].to_numpy()
        first, last = bounds[text[at[0]]], bounds[text[at[0]] + 1]
        shown = given[at].tolist()
        key = (int(first), tuple(shown))
        if key not in sequence:
            match = characters.find(ours[first:last], shown)
            doubt = ambiguous(words.spelled[first:last], shown, match.row)
            match.row[np.isin(match.row, doubt)] = -1
            match.whole[doubt] = False
            sequence[key] = match
        match = sequence[key]
        row[at] = np.where(match.row >= 0, match.row + first, -1)
        whole[first:last] &= match.whole
        touched[first:last] = True
    if "token" not in rows:  # white space is a token, but no word
        row[rows["word"].str.strip().to_numpy() == ""] = -1
    return row, whole & touched


def ambiguous(spelled: Sequence[str], rows: Sequence[str], row: np.ndarray) -> list[int]:
    """Return the words whose rows could also belong to another word.

    Where words or rows are missing, a neighbour of the gap may be spelled as what is missing: of
    "the old, the new" and one row "the", nothing says which of the two it is.

    Parameters
    ----------
    spelled : sequence of str
        The words of a text, as words are compared.
    rows : sequence of str
        The table's rows, words or tokens, in reading order.
    row : ndarray of int64, shape (rows,)
        The word of each row, -1: none.
    """
    at = np.flatnonzero(row >= 0)
    there, first = np.unique(row[at], return_index=True)
    last = len(at) - 1 - np.unique(row[at][::-1], return_index=True)[1]
    begins = [*at[first].tolist(), len(rows)]
    ends = [-1, *at[last].tolist()]
    placed = [-1, *there.tolist(), len(spelled)]
    steps = range(len(placed) - 1)
    lost = [list(spelled[placed[k] + 1 : placed[k + 1]]) for k in steps]
    extra = [[labels.spelling(t) for t in rows[ends[k] + 1 : begins[k]]] for k in steps]
    joined = [[*texts, "".join(texts)] if len(texts) > 1 else texts for texts in extra]
    doubtful: set[int] = set()
    for gaps in (lost, joined):
        for k in filter(gaps.__getitem__, steps):
            after, before = range(k, len(gaps)), range(k, -1, -1)
            following = (placed[i + 1] for i in after[:-1])
            doubtful |= _movable(spelled, following, (gaps[i] for i in after))
            preceding = (placed[i] for i in before[:-1])
            doubtful |= _movable(spelled, preceding, (gaps[i][::-1] for i in before))
    return sorted(doubtful)


def _movable(
    spelled: Sequence[str], words: Iterable[int], gaps: Iterator[Sequence[str]]
) -> set[int]:
    """Return the words after a gap that could be within it, in the same order.

    `gaps` are what is missing before the first of the words, the second, and so on: a word that moves
    over a gap leaves what is missing there to the next.
    """
    movable: set[int] = set()
    position, free = 0, _ends(next(gaps))
    for word, gap in zip(words, gaps, strict=True):
        if spelled[word] not in free[position:]:
            break
        position = free.index(spelled[word], position) + 1
        free += [spelled[word], *_ends(gap)]  # free for the next word if this one moves
        movable.add(word)
    return movable


def _ends(gap: Sequence[str]) -> list[str]:
    """Return a gap's words, of a long one those next to its ends."""
    return [*gap] if len(gap) <= 2 * _NEAREST else [*gap[:_NEAREST], *gap[-_NEAREST:]]


def reading_order(rows: pd.DataFrame) -> np.ndarray:
    """Return the order of rows within texts: by offset, by sentence and position, or unchanged."""
    positions = np.arange(len(rows))
    keys: list[np.ndarray] = [positions]
    if "offset" in rows:
        keys.append(rows["offset"].to_numpy())
    elif "word_id" in rows:
        keys.append(rows["word_id"].to_numpy())
    elif "position" in rows:
        keys.append(rows["position"].to_numpy())
        if "sentence" in rows:
            codes, unique = pd.factorize(rows["sentence"])
            number = labels.numbers(unique)
            keys.append(codes if number is None else number[codes])
    if "item" in rows:
        keys.append(pd.factorize(rows["item"])[0])
    return np.lexsort(keys)


def offsets(words: Index) -> np.ndarray:
    """Return the start of each word in its item's text, characters from 0; shape (W,)."""
    size = words.lengths.astype(np.int64)
    if "space_after" in words.words:
        size = size + words.words["space_after"].to_numpy(dtype=np.int64)
    else:
        size = size + 1
    begin = np.append(0, np.cumsum(size))
    return begin[:-1] - begin[words.item_start[:-1]][words.item]


def most_similar(
    words: Index, unit: np.ndarray, rows: pd.DataFrame, group: np.ndarray, groups: int
) -> np.ndarray:
    """Return the text that shares most word bigrams with each group of rows.

    No two groups get the same text.

    Parameters
    ----------
    words : Index
        The words, W of them.
    unit : ndarray of int64, shape (W,)
        The text (item or sentence) of each word.
    rows : DataFrame
        With `word`, and with what orders them.
    group : ndarray of int64, shape (rows,)
        The group of each row, below `groups`.

    Returns
    -------
    ndarray of int64, shape (groups,)
        A text for each group, -1 where it has nothing in common with any.
    """
    order = reading_order(rows)
    order = order[np.argsort(group[order], kind="stable")]
    theirs = labels.spellings(rows["word"].iloc[order])
    codes, unique = pd.factorize(np.concatenate([words.spelled, theirs]))
    ours, given = codes[: len(words.words)], codes[len(words.words) :]
    pairs = _pairs(ours, unit, len(unique)), _pairs(given, group[order], len(unique))
    table = pd.DataFrame({"pair": pairs[0], "unit": unit})
    seen = pd.DataFrame({"pair": pairs[1], "group": group[order]})
    table, seen = table.drop_duplicates(), seen.drop_duplicates()
    common = table[table.groupby("pair")["unit"].transform("size") <= 20]
    both = seen.merge(common, on="pair")
    count = both.groupby(["group", "unit"]).size().reset_index(name="n")
    count["size"] = np.bincount(unit)[count["unit"]]
    ranked = count.sort_values(["n", "size"], ascending=[False, True], kind="stable")
    best, taken = np.full(groups, -1, np.int64), set()
    for number, text in ranked[["group", "unit"]].itertuples(index=False):
        if best[number] < 0 and text not in taken:
            best[number] = text
            taken.add(text)
    return best


def _pairs(codes: np.ndarray, unit: np.ndarray, size: int) -> np.ndarray:
    """Return a number for each word bigram in a text (0: none)."""
    before = np.where(np.append(True, unit[1:] != unit[:-1]), 0, np.append(0, codes[:-1]) + 1)
    return before * (size + 1) + codes
