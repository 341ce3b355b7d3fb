"""Which word each row of responses belongs to, and how many words on it goes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd

from recency.errors import InputError
from recency.reading.own.columns import Columns, labels, lacking, positions, same_spelling
from recency.reading.tables import Table

_SHOWN = re.compile(r"\W+")


@dataclass(frozen=True)
class Found:
    """Of each row (its line the index): word_id and span, in words from there on.

    `kept` (n,) says of all rows which these are.
    """

    word_id: pd.Series
    span: pd.Series
    kept: np.ndarray


def find(
    table: Table, columns: Columns, words: pd.DataFrame, subject: pd.Series, drop: bool = False
) -> Found:
    """Find each row's word: by word_id, region, position, or the order of the rows of a text.

    A position is one in the sentence or the text, from 0 or 1, whichever finds all rows' words (and
    the words themselves, if the file has them). Raises InputError, with the line, where none does;
    with `drop` rows whose word there is not are left out, and counted on stderr.
    """
    there = list(table.frame.columns)
    if (name := columns.find("word_id", there)) is not None:
        ids = table.numbers(name, integer=True)
        first, span = ids.where(ids.isin(words.word_id)), None
    elif (name := columns.find("region", there)) is not None and "region" in words:
        first, span = _regions(table, columns, words, name)
    elif "phrase" in words:
        phrases = _phrases(words)
        place = _by_position(table, columns, phrases, subject, drop)
        first, span = place.map(phrases.word_id), place.map(phrases.span)
    else:
        first, span = _by_position(table, columns, words, subject, drop), None
    kept = first.notna().to_numpy()
    if not drop or not kept.any():
        _all_there(table, first)
    elif not kept.all():
        table = table.without(first.isna(), "to words that there are not")
        first = first[kept]
    if span is None:
        span = _spans(table, columns, words, first)
    else:
        span = span[kept].astype("int32")
    return Found(first.astype("int32"), span, kept)


def _phrases(words: pd.DataFrame) -> pd.DataFrame:
    """Give the phrases that words were shown in as if each were a word; and word_id, span of its words."""
    groups = words.groupby("phrase", sort=False)
    found = groups.first()
    found["word"], found["span"] = groups.word.agg(" ".join), groups.size()
    found["position"] = found.groupby("sentence", sort=False).cumcount() + 1
    return found.reset_index()


def _keys(table: Table, columns: Columns, words: pd.DataFrame) -> dict[str, tuple]:
    """Give, of item and sentence, the labels of rows and of words, spelled alike."""
    found = {}
    for name in ("item", "sentence"):
        column = columns.find(name, table.frame.columns)
        if name == "item" and columns.name(name) is None and words["item"].nunique() == 1:
            found[name] = pd.Series(words["item"].iloc[0], index=table.frame.index), words["item"]
        if column is None:
            continue
        known = words["item"] if name == "item" else words.sentence.astype("str")
        if name == "sentence" and "sentence_label" in words:
            known = words.sentence_label
        found[name] = same_spelling(labels(table, column), known)
    return found


def _by_position(
    table: Table, columns: Columns, words: pd.DataFrame, subject: pd.Series, drop: bool
) -> pd.Series:
    """Find words by their positions in sentence or item; NaN where there is none, with `drop`."""
    keys = _keys(table, columns, words)
    if not keys:
        raise InputError(
            f"{table.path} has neither a column {columns.name('word_id')} nor "
            f"{columns.name('sentence')}: options → columns must name word_id, or sentence and "
            "position, or item and position"
        )
    column = columns.find("position", table.frame.columns)
    if column is None and columns.name("position") is not None:
        way = "or map `position: null`, to count the rows as they stand. "
        raise lacking(table.path, columns.name("position"), table.frame.columns, way)
    if column is None:
        text = [subject, *(rows for rows, _ in keys.values())]
        at = subject.groupby(text, sort=False).cumcount() + 1
        _whole_texts(table, words, keys, text, at)
    else:
        at = positions(table, column)
    spoken = columns.find("word", table.frame.columns)
    shown = None if spoken is None else table[spoken]
    tries = []
    for unit, base in product([*(["sentence"] if "sentence" in keys else []), "item"], _bases(at)):
        if unit == "item" and "item" not in keys:
            continue
        ids = _look_up(words, keys, unit, at - base + 1)
        wrong = ids.isna()
        if shown is not None:
            wrong |= ~_same(shown, words, ids)
        if not wrong.any():
            return ids
        tries.append((int(wrong.sum()), len(tries), ids, wrong))
    _, _, ids, wrong = min(tries, key=lambda each: each[:2])
    if drop and (shown is None or _same(shown, words, ids).all()):
        return ids
    line = ids.index[int(np.argmax(wrong))]
    more = f"({wrong.sum():,} such rows)"
    place = int(np.argmax(wrong))
    if ids.isna().iloc[place]:
        table.fail(line, f"there is no such word in the words {more}")
    table.fail(
        line,
        f"{spoken} is {shown.iloc[place]!r}, the words have "
        f"{words.word[int(ids.iloc[place])]!r} there {more}; if that is as it should be, map "
        "`responses: {word: null}`",
    )


def _bases(at: pd.Series) -> list[int]:
    """Give where positions may count from, the likelier first."""
    return [0] if at.min() < 1 else [1, 0]


def _look_up(words: pd.DataFrame, keys: dict[str, tuple], unit: str, at: pd.Series) -> pd.Series:
    """Give the ids of the words at places (from 1) of units; NaN where there is none."""
    used = [
        name
        for name in ("item", "sentence")
        if name in keys and (unit, name) != ("item", "sentence")
    ]
    place = (
        words.position if unit == "sentence" else words.groupby("item", sort=False).cumcount() + 1
    )
    known = pd.MultiIndex.from_arrays([*(keys[name][1] for name in used), place.astype("int64")])
    asked = pd.MultiIndex.from_arrays([*(keys[name][0] for name in used), at.astype("int64")])
    if not known.is_unique:
        raise InputError(
            "sentences are numbered anew in each text: options → columns must name the item of the "
            "responses, too"
        )
    places = known.get_indexer(asked)
    return pd.Series(np.where(places < 0, np.nan, places), index=at.index)


def _same(shown: pd.Series, words: pd.DataFrame, ids: pd.Series) -> pd.Series:
    """Say of each row whether its word is that of `words`, but for case and punctuation."""
    plain = {word: _SHOWN.sub("", word).casefold() for word in {*shown.unique(), *words.word}}
    known = ids.map(dict(enumerate(words.word.map(plain))))
    own = shown.map(plain)
    return (own == known) | (own == "") | (known == "") | known.isna()


def _whole_texts(table: Table, words: pd.DataFrame, keys: dict, text: list, at: pd.Series) -> None:
    """Raise InputError unless each reading has as many rows as its text, where no position says which."""
    parts = list(keys)
    known = pd.DataFrame({name: keys[name][1] for name in parts})
    length = known.groupby(parts, sort=False).size()
    rows = pd.DataFrame({name: keys[name][0] for name in parts})
    asked = pd.MultiIndex.from_frame(rows) if len(parts) > 1 else rows[parts[0]]
    expected = pd.Series(length.reindex(asked).to_numpy(), index=at.index)
    got = at.groupby(text, sort=False).transform("size")
    wrong = got != expected
    if wrong.any():
        place = int(np.argmax(wrong))
        full = "no" if np.isnan(expected.iloc[place]) else f"{expected.iloc[place]:.0f}"
        table.fail(
            at.index[place],
            f"subject {text[0].iloc[place]} has {got.iloc[place]} rows of a text of {full} words, and "
            "no position says which; map `position`",
        )


def _spans(table: Table, columns: Columns, words: pd.DataFrame, first: pd.Series) -> pd.Series:
    """Give how many words on a response goes, 1 if nothing says so."""
    there = list(table.frame.columns)
    if (name := columns.find("span", there)) is not None:
        span = table.numbers(name, integer=True, minimum=1)
    elif (name := columns.find("last_position", there)) is not None:
        begin = columns.needed("position", table.path, there)
        span = positions(table, name) - positions(table, begin) + 1
    else:
        return pd.Series(1, index=first.index, dtype="int32")
    item = words["item"].to_numpy()
    last = np.clip(first.to_numpy(dtype=int) + span.to_numpy() - 1, 0, len(words) - 1)
    inside = (first.to_numpy(dtype=int) + span.to_numpy() <= len(words)) & (span.to_numpy() > 0)
    wrong = ~inside | (item[last] != item[first.to_numpy(dtype=int)])
    if wrong.any():
        place = int(np.argmax(wrong))
        table.fail(
            first.index[place],
            f"{name} is {table[name].iloc[place]!r}: the region ends before it begins, or beyond its text",
        )
    return span.astype("int32")


def _regions(
    table: Table, columns: Columns, words: pd.DataFrame, name: str
) -> tuple[pd.Series, pd.Series]:
    """Find regions by their labels, which words have within item or sentence: first word, number of words."""
    keys = _keys(table, columns, words)
    if "item" not in keys and "sentence" not in keys:
        raise InputError(
            f"{table.path}: regions are labels within a text; options → columns must name the item"
        )
    own, known_labels = same_spelling(labels(table, name), words.region.astype("str"))
    known = pd.DataFrame({key: pair[1] for key, pair in keys.items()}).assign(region=known_labels)
    known["word_id"] = words.word_id
    known = known[words.region.notna().to_numpy()]
    groups = known.groupby([*keys, "region"], sort=False).word_id.agg(["min", "max", "size"])
    split = groups["max"] - groups["min"] + 1 != groups["size"]
    if split.any():
        where = " ".join(map(str, split.index[int(np.argmax(split))]))
        raise InputError(
            f"the words of region {where} do not stand side by side in the words' table"
        )
    asked = pd.MultiIndex.from_arrays([*(pair[0] for pair in keys.values()), own])
    found = groups.reindex(asked).set_axis(own.index)
    return found["min"], found["size"]


def _all_there(table: Table, ids: pd.Series) -> None:
    if (missing := ids.isna()).any():
        line = ids.index[int(np.argmax(missing))]
        table.fail(line, f"there is no such word in the words ({missing.sum():,} such rows)")
