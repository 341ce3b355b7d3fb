"""Candidate alignments: interpretations of a table's keys, and the resulting word of each row.

A key has several interpretations: its labels may be those of the words, numbers from 0, 1 or 2, or
refer to texts in order of appearance. A candidate combines one interpretation of each key.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd

from recency.reading.joins import index as labels
from recency.reading.joins import sequences
from recency.reading.joins.index import Index

BASES = (1, 0, 2)


@dataclass(frozen=True)
class Candidate:
    """One alignment.

    Attributes
    ----------
    keys : mapping of str to tuple of str
        Key → the settings that select this reading; several give the same.
    row : ndarray of int64, shape (rows,)
        The word that each row belongs to, by its row among the words; -1: none.
    whole : ndarray of bool, shape (words,), optional
        Of an alignment by characters: words that the rows spell completely.
    """

    keys: Mapping[str, tuple[str, ...]]
    row: np.ndarray
    whole: np.ndarray | None = None

    def line(self) -> str:
        """Return the line of YAML that selects this candidate."""
        return "join: {" + ", ".join(f"{key}: {names[0]}" for key, names in self.keys.items()) + "}"

    def fits(self, chosen: Mapping[str, str]) -> bool:
        """Return whether the option `join` permits this candidate."""
        return all(setting in self.keys.get(key, ()) for key, setting in chosen.items())


Reading = tuple[tuple[str, ...], np.ndarray]


def candidates(words: Index, rows: pd.DataFrame) -> Iterator[Candidate]:
    """Yield the possible alignments by the keys of `rows`, the simplest first.

    Parameters
    ----------
    words : Index
        The words, W of them.
    rows : DataFrame
        Columns of `recency.reading.join_keys` and `word` or `token`, those that there are; item and sentence as labels
        (str), the others as int64. `reader`: whose rows these are, if no column says which word.
    """
    if "word_id" in rows:
        yield from _by_number(words, rows["word_id"].to_numpy())
    if "unique_id" in rows and "unique_id" in words.words:
        yield from _by_id(words, rows["unique_id"])
    items = list(_items(words, rows))
    if "position" in rows:
        sentences = list(_sentences(words, rows, items)) if "sentence" in rows else []
        yield from _by_position(words, rows["position"].to_numpy(), items, sentences)
        if sentences and "token" not in rows:
            yield from _by_row_order(words, rows, items)
    if "offset" in rows and "token" not in rows:
        yield from _by_offset(words, rows["offset"].to_numpy(), items)
    if "word" in rows or "token" in rows:
        yield from _by_words(words, rows, items)


def _distinct(readings: list[Reading]) -> Iterator[Reading]:
    """Yield distinct interpretations with all of their names, without those that match nothing."""
    kept: list[list] = []
    for names, unit in readings:
        same = [reading for reading in kept if np.array_equal(reading[1], unit)]
        if same:
            same[0][0] += names
        elif (unit >= 0).any():
            kept.append([names, unit])
    yield from ((names, unit) for names, unit in kept)


def _bounded(unit: np.ndarray, size: int) -> np.ndarray:
    return np.where((unit >= 0) & (unit < size), unit, -1)


def _items(words: Index, rows: pd.DataFrame) -> Iterator[Reading]:
    """Yield interpretations of the rows' items; a single text needs no column."""
    if "item" not in rows:
        if len(words.items) == 1:
            yield (), np.zeros(len(rows), np.int64)
        return
    size, codes, unique = len(words.items), *pd.factorize(rows["item"])
    readings: list[Reading] = [(("labels",), labels.look_up(rows["item"], words.items))]
    if (number := labels.numbers(unique)) is not None:
        readings += [
            ((f"from {base}",), _bounded(number - base, size)[codes])
            for base in BASES
            if number.min() >= base
        ]
    if len(unique) == size and not (readings[0][1] >= 0).all():
        readings.append((("order",), codes.astype(np.int64)))
    if "word" in rows:
        best = sequences.most_similar(words, words.item, rows, codes, len(unique))
        readings.append((("words",), best[codes]))
    yield from _distinct(readings)


def _sentences(words: Index, rows: pd.DataFrame, items: list[Reading]) -> Iterator[tuple]:
    """Yield interpretations of the rows' sentences, with the required interpretation of items."""
    size, codes, unique = len(words.sentences), *pd.factorize(rows["sentence"])
    number = labels.numbers(unique)
    bases = [base for base in BASES if number is not None and number.min() >= base]
    plain: list[Reading] = []
    if len(set(words.sentences)) == size:
        plain.append((("labels",), labels.look_up(rows["sentence"], words.sentences)))
    own_labels = words.words["sentence"].astype(str).iloc[words.sentence_start[:-1]].tolist()
    plain.append((("labels",), labels.look_up(rows["sentence"], own_labels)))
    plain += [((f"from {base}",), _bounded(number - base, size)[codes]) for base in bases]
    pairs = pd.factorize(rows["item"] + "\n" + rows["sentence"])[0] if "item" in rows else None
    groups = codes if pairs is None else pairs
    complete = any((unit >= 0).all() for _, unit in plain)
    if not complete and groups.max() + 1 == size:
        plain.append((("order",), groups.astype(np.int64)))
    if "word" in rows:
        best = sequences.most_similar(words, words.sentence, rows, groups, groups.max() + 1)
        plain.append((("words",), best[groups]))
    for item_names, item in items:
        inside = [] if pairs is None else [(("labels",), _label_in_item(words, rows, item))]
        first = words.first_sentence[item]
        for base in bases:
            unit = first + number[codes] - base
            legal = (item >= 0) & (number[codes] >= base) & (unit < words.first_sentence[item + 1])
            inside.append(((f"from {base} in item",), np.where(legal, unit, -1)))
        if pairs is not None:
            order = first + _rank_within(item, pairs)
            legal = (item >= 0) & (order < words.first_sentence[item + 1])
            inside.append((("order in item",), np.where(legal, order, -1)))
        keys = {"item": item_names} if item_names else {}
        for names, unit in _distinct(inside):
            yield keys | {"sentence": names}, unit
    for names, unit in _distinct(plain):
        yield {"sentence": names}, unit


def _label_in_item(words: Index, rows: pd.DataFrame, item: np.ndarray) -> np.ndarray:
    """Return the sentence of each row by its label, which may recur in other items."""
    of = np.repeat(np.arange(len(words.items)), np.diff(words.first_sentence))
    row_of = {}
    plain = [labels.plain_label(label) for label in words.sentences]
    if len(set(zip(of.tolist(), plain))) < len(plain):
        plain = words.sentences
    for number, key in reversed(list(enumerate(zip(of.tolist(), plain)))):
        row_of[key] = number
    codes, unique = pd.factorize(rows["sentence"])
    asked = unique if plain is words.sentences else [labels.plain_label(u) for u in unique]
    pair = item * len(unique) + codes
    pair_codes, pairs = pd.factorize(pair)
    rows_found = [
        row_of.get((p // len(unique), asked[p % len(unique)]), -1) for p in pairs.tolist()
    ]
    return np.where(item >= 0, np.array(rows_found, np.int64)[pair_codes], -1)


def _rank_within(item: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Return the rank of each row's sentence among those of its item, in order of appearance."""
    first = np.unique(pairs, return_index=True)[1]
    rank = np.empty(len(first), np.int64)
    order = np.sort(first)
    owner = item[order]
    rank[pairs[order]] = pd.Series(owner).groupby(owner).cumcount().to_numpy()
    return rank[pairs]


def _by_number(words: Index, number: np.ndarray) -> Iterator[Candidate]:
    """Yield interpretations of `word_id` as the number of the word in the dataset."""
    for base in (0, 1, 2):
        if number.min() >= base:
            row = _bounded(number - base, len(words.words))
            yield Candidate({"word_id": (f"from {base}",)}, row)


def _by_id(words: Index, ids: pd.Series) -> Iterator[Candidate]:
    """Yield the alignment by the words' ids in their corpus, if these are unique."""
    unique_ids = words.words["unique_id"].reset_index(drop=True)
    unique_ids = unique_ids[unique_ids.notna()].astype(str)
    if unique_ids.is_unique:
        row_of = pd.Series(unique_ids.index, index=unique_ids)
        row = ids.astype(str).map(row_of).fillna(-1).to_numpy(dtype=np.int64)
        yield Candidate({"unique_id": ("labels",)}, row)


def _by_position(
    words: Index, position: np.ndarray, items: list[Reading], sentences: list
) -> Iterator[Candidate]:
    """Yield interpretations of positions, within sentences and within items."""
    units = [(keys, unit, words.sentence_start, "") for keys, unit in sentences]
    units += [
        ({"item": names} if names else {}, unit, words.item_start, " in item")
        for names, unit in items
    ]
    bases = [base for base in BASES if position.min() >= base]
    for (keys, unit, start, suffix), base in product(units, bases):
        row = start[unit] + position - base
        legal = (unit >= 0) & (row < start[unit + 1])
        yield Candidate(keys | {"position": (f"from {base}{suffix}",)}, np.where(legal, row, -1))


def _by_offset(words: Index, offset: np.ndarray, items: list[Reading]) -> Iterator[Candidate]:
    """Yield interpretations of character offsets as starts of words in their item's text."""
    begins = sequences.offsets(words)
    for (names, item), base in product(items, (0, 1)):
        keys = {"item": names} if names else {}
        offsets = pd.MultiIndex.from_arrays([words.item, begins])
        row = offsets.get_indexer(pd.MultiIndex.from_arrays([item, offset - base]))
        yield Candidate(keys | {"offset": (f"from {base}",)}, row.astype(np.int64))


def _by_row_order(words: Index, rows: pd.DataFrame, items: list[Reading]) -> Iterator[Candidate]:
    """Yield the alignment of a text's k-th row with its k-th word, for tables with other sentences."""
    order = sequences.reading_order(rows)
    whole = [*items, ((), np.zeros(len(rows), np.int64))] if "item" not in rows else items
    for names, item in whole:
        single = "item" not in rows
        size = np.array([len(words.words)]) if single else np.diff(words.item_start)
        start = np.array([0]) if single else words.item_start[:-1]
        positions = np.empty(len(rows), np.int64)
        positions[order] = pd.Series(item[order]).groupby(item[order]).cumcount().to_numpy()
        count = np.bincount(item[item >= 0], minlength=len(size))
        legal = (item >= 0) & (count == size)[item]
        keys = {"item": names} if names else {}
        row = np.where(legal, start[item] + positions, -1)
        yield Candidate(keys | {"rows": ("in order",)}, row)


def _by_words(words: Index, rows: pd.DataFrame, items: list[Reading]) -> Iterator[Candidate]:
    """Yield the alignment of the rows' characters with those of the words, in reading order."""
    readings = items if "item" in rows else [((), np.zeros(len(rows), np.int64))]
    bounds = words.item_start if "item" in rows else np.array([0, len(words.words)])
    for names, item in readings:
        keys = {"item": names} if names else {}
        row, whole = sequences.aligned(words, rows, item, bounds)
        yield Candidate(keys | {"words": ("in order",)}, row, whole)
