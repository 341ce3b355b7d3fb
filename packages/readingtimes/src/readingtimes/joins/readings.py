"""Candidate alignments: interpretations of a table's keys, and the resulting word of each row.

A key has several interpretations: its labels may be those of the words, numbers from 0, 1 or 2, or
refer to texts in order of appearance. A candidate combines one interpretation of each key.

Align rows with words by characters in reading order, and texts by their words.

Align rows of a table (words, or tokens of any kind) with the words of a text by characters.

Tokens are taken as vocabularies and APIs write them: byte-level BPE (`Ġ`), SentencePiece (`▁`,
`<0xE2>`), WordPiece (`##`), or the text itself with its white space (with `bytes:` and the bytes in
hexadecimal for a part of a character, and quotes and brackets as treebanks write them). White space, case, accents and the shape of quotes and dashes play no part, so that only
visible characters need be the same.
"""

import itertools
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd

from readingtimes.joins import index as labels
from readingtimes.joins.index import Index

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
        Columns that can place a row and `word` or `token`, those that there are; item and sentence as labels
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


def _within(unit: np.ndarray, size: int) -> np.ndarray:
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
            ((f"from {base}",), _within(number - base, size)[codes])
            for base in BASES
            if number.min() >= base
        ]
    if len(unique) == size and not (readings[0][1] >= 0).all():
        readings.append((("order",), codes.astype(np.int64)))
    if "word" in rows:
        best = most_similar(words, words.item, rows, codes, len(unique))
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
    plain += [((f"from {base}",), _within(number - base, size)[codes]) for base in bases]
    pairs = pd.factorize(rows["item"] + "\n" + rows["sentence"])[0] if "item" in rows else None
    groups = codes if pairs is None else pairs
    complete = any((unit >= 0).all() for _, unit in plain)
    if not complete and groups.max() + 1 == size:
        plain.append((("order",), groups.astype(np.int64)))
    if "word" in rows:
        best = most_similar(words, words.sentence, rows, groups, groups.max() + 1)
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
            row = _within(number - base, len(words.words))
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
    if position.max() > np.diff(words.item_start).max():
        whole = np.zeros(len(position), np.int64), np.array([0, len(words.words)])
        units.append(({}, *whole, " in file"))
    bases = [base for base in BASES if position.min() >= base]
    for (keys, unit, start, suffix), base in product(units, bases):
        row = start[unit] + position - base
        legal = (unit >= 0) & (row < start[unit + 1])
        yield Candidate(keys | {"position": (f"from {base}{suffix}",)}, np.where(legal, row, -1))


def _by_offset(words: Index, offset: np.ndarray, items: list[Reading]) -> Iterator[Candidate]:
    """Yield interpretations of character offsets as starts of words in their item's text."""
    begins = offsets(words)
    for (names, item), base in product(items, (0, 1)):
        keys = {"item": names} if names else {}
        places = pd.MultiIndex.from_arrays([words.item, begins])
        row = places.get_indexer(pd.MultiIndex.from_arrays([item, offset - base]))
        yield Candidate(keys | {"offset": (f"from {base}",)}, row.astype(np.int64))


def _by_row_order(words: Index, rows: pd.DataFrame, items: list[Reading]) -> Iterator[Candidate]:
    """Yield the alignment of a text's k-th row with its k-th word, for tables with other sentences."""
    order = reading_order(rows)
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
        row, whole = aligned(words, rows, item, bounds)
        yield Candidate(keys | {"words": ("in order",)}, row, whole)


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
    sequence: dict[tuple, Found] = {}
    for numbers in pd.Series(order).groupby(group, sort=False):
        at = numbers[1].to_numpy()
        first, last = bounds[text[at[0]]], bounds[text[at[0]] + 1]
        shown = given[at].tolist()
        key = (int(first), tuple(shown))
        if key not in sequence:
            match = find(ours[first:last], shown)
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


#: Number of equal characters required after a difference; smaller number that suffices if a word and a
#: row begin there, within these distances.
ANCHOR, SHORT, NEAR, FARTHER = 16, 5, 40, 8
_PARTIAL = re.compile(r" ?bytes:(.*\\x[0-9a-fA-F]{2}.*)")
_ESCAPED = re.compile(rb"\\x([0-9a-fA-F]{2})")
_PUNCTUATION = re.compile(r"[\W_]")
_BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")
_TREEBANK = {"``": '"', "''": '"', "-LRB-": "(", "-RRB-": ")"}
#: Kana and Hangul syllables, whose decomposed first part is another letter.
_WHOLE = (("\u3040", "\u30ff"), ("\uac00", "\ud7a3"))
_SHAPES = str.maketrans("‘’‚‛“”„‟–—―−", "''''\"\"\"\"----")


@dataclass
class Found:
    """Alignment of a table's rows with a text: `row` (rows,) is the word of each, or -1.

    `whole` (words,) says of which words every character is there, and nothing else within them.
    """

    row: np.ndarray
    whole: np.ndarray


def find(words: Sequence[str], rows: Sequence[str]) -> Found:
    """Find each of a text's `words` in `rows`, which are words or tokens in the text's order.

    A row belongs to the word of its first visible character, as tokens of surprisal do; one
    of white space alone to the word behind it. Rows that are no part of the text belong to none.
    """
    given, row_of, first = characters(as_bytes(rows))
    bare = not _PUNCTUATION.search(given)  # a table without punctuation: only letters are compared
    text, word_of, _ = characters([word.encode() for word in words], bare)
    # position in the text of each character of the rows
    positions = match_characters(
        text, given, np.diff(word_of, prepend=-1) > 0, np.diff(row_of, prepend=-1) > 0
    )
    word = np.where(positions >= 0, np.append(word_of, -1)[positions], -1)
    row = np.append(word, -1)[np.minimum(first, len(given))]
    last = len(given) - 1
    if last >= 0:  # ignore white space at the end
        row[first > last] = word[last]
    whole = np.ones(len(words), bool)
    there = np.zeros(len(text), bool)
    there[positions[positions >= 0]] = True
    whole[word_of[~there]] = False
    strange = np.flatnonzero(positions < 0)
    if len(strange) and len(given):
        matched_rows = np.flatnonzero(positions >= 0)
        # A row with a character too many spoils the words that it touches; so does what stands
        # between two characters of one word.
        spoiled = np.isin(row_of, row_of[strange]) & (positions >= 0)
        whole[word[spoiled]] = False
        behind = np.searchsorted(matched_rows, strange)
        within = (behind > 0) & (behind < len(matched_rows))
        before, after = word[matched_rows[behind[within] - 1]], word[matched_rows[behind[within]]]
        whole[before[before == after]] = False
    return Found(row, whole)


def characters(texts: Sequence[bytes], bare: bool = False) -> tuple[str, np.ndarray, np.ndarray]:
    """Return the concatenated visible characters of texts, and the text of each.

    Without punctuation if `bare`.

    The third are places among them: of each text, its first visible character, or the one that its
    first byte is a part of, or the next behind it.
    """
    joined = b"".join(texts).decode("utf-8", "surrogateescape")
    ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
    sizes = np.array(
        [1 if c < "\x80" else len(c.encode("utf-8", "surrogateescape")) for c in joined], np.int64
    )
    start = np.append(0, np.cumsum(sizes))[:-1]
    shown = [not (c.isspace() or (bare and _PUNCTUATION.match(c))) for c in joined]
    visible = np.array(shown, bool)
    start, size = start[visible], sizes[visible]
    shown = "".join(map(_plain, itertools.compress(joined, visible)))
    owner = np.searchsorted(ends, start, side="right")
    begins = np.append(0, ends)[:-1]
    return shown, owner, np.searchsorted(start + size, begins, side="right")


def _plain(character: str) -> str:
    """Normalise characters one by one: no case and accents, plain quotes and dashes."""
    if character < "\x80":
        return character.lower()
    if any(low <= character <= high for low, high in _WHOLE):
        return character
    base = unicodedata.normalize("NFKD", character.translate(_SHAPES))[:1].lower()
    return base if len(base) == 1 else character


def plain(text: str) -> str:
    """Normalise a word for comparison: visible characters without case and accents."""
    return characters([text.encode("utf-8", "surrogateescape")])[0]


def as_bytes(tokens: Sequence[str]) -> list[bytes]:
    """Return the text bytes of tokens, by the vocabulary's notation."""
    if any("Ġ" in token for token in tokens):
        table = _byte_of()
        return [b"".join(table[c] if c in table else c.encode() for c in token) for token in tokens]
    if any(token.startswith("▁") for token in tokens):
        return [
            bytes([int(one[1], 16)])
            if (one := _BYTE.fullmatch(token))
            else token.replace("▁", " ").encode()
            for token in tokens
        ]
    if any(token.startswith("##") for token in tokens):
        return [token.removeprefix("##").encode() for token in tokens]
    return [
        _ESCAPED.sub(lambda byte: bytes([int(byte[1], 16)]), part[1].encode())
        if (part := _PARTIAL.fullmatch(token))
        else _TREEBANK.get(token, token).encode("utf-8", "surrogateescape")
        for token in tokens
    ]


def _byte_of() -> dict[str, bytes]:
    """Return GPT-2's byte-to-character map: printable bytes unchanged, others from 256."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    table = {chr(byte): bytes([byte]) for byte in shown}
    rest = [byte for byte in range(256) if byte not in shown]
    return table | {chr(256 + n): bytes([byte]) for n, byte in enumerate(rest)}


def match_characters(
    text: str, given: str, word_begins: np.ndarray, row_begins: np.ndarray
) -> np.ndarray:
    """Return the position in `text` of each character of `given` (int64), -1 without a match.

    The two are walked in step. Where they differ, they go back to where a word and a row begin (the
    next word may begin with the letter of one that is missing), and go on at the nearest place from
    which `ANCHOR` characters are the same: what is skipped on either side is without a match.
    """
    positions = np.full(len(given), -1, np.int64)
    i = j = 0
    while i < len(text) and j < len(given):
        same = _common(text, given, i, j)
        positions[j : j + same] = np.arange(i, i + same)
        i, j = i + same, j + same
        if i < len(text) and j < len(given):
            for back in range(min(same + 1, ANCHOR)):
                if word_begins[i - back] and row_begins[j - back]:
                    positions[j - back : j] = -1
                    i, j = i - back, j - back
                    break
        step = _in_step_again(text, given, i, j, word_begins, row_begins)
        if step is None:
            break
        i, j = step
    return positions


def _in_step_again(
    text: str, given: str, i: int, j: int, word_begins: np.ndarray, row_begins: np.ndarray
) -> tuple[int, int] | None:
    """Return the nearest positions after a difference from which the texts agree."""
    best, skipped, step = len(text) + len(given), 0, None
    while j + skipped < len(given) and skipped < best:
        start = j + skipped
        for size in (ANCHOR, SHORT):
            anchor = given[start : start + size]
            if size == SHORT and not row_begins[start]:
                continue
            more = FARTHER if size == SHORT else 0
            most = max(0, min(best - skipped - more, NEAR if size == SHORT else len(text)))
            at = text.find(anchor, i, i + most + size)
            while at >= 0:
                sure = len(anchor) == ANCHOR or at + len(anchor) == len(text)
                sure = sure or (word_begins[at] and row_begins[start])
                if sure and skipped + at > i and skipped + at - i + more < best:
                    best, step = skipped + at - i + more, (at, start)
                    break
                at = text.find(anchor, at + 1, i + most + size)
        skipped += 1
    return step


def _common(text: str, given: str, i: int, j: int) -> int:
    """Return the number of equal characters from two positions on."""
    same, step = 0, 1024
    while step:
        while text[i + same : i + same + step] == given[j + same : j + same + step]:
            if min(len(text) - i, len(given) - j) < same + step:
                break
            same += step
        step //= 2
    return same
