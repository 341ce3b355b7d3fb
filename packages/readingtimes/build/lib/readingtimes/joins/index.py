"""Index of a dataset's words by item, sentence and position, and comparison of labels."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from readingtimes import scripts
from readingtimes.errors import InputError
from readingtimes.names import near

_NUMBER = re.compile(r"-?\d{1,9}(\.0+)?")
_PUNCTUATION = re.compile(f"{scripts.NO_LETTER}+")
ORDER = "order"


@dataclass(frozen=True)
class Index:
    """Contract 1 as arrays; items and sentences are counted from 0 in reading order.

    Attributes
    ----------
    words : DataFrame
        Contract 1, W rows.
    item, sentence : ndarray of int64, shape (W,)
        Item and sentence of each word.
    item_start, sentence_start : ndarray of int64, shapes (items + 1,), (sentences + 1,)
        First word of each, and W.
    first_sentence : ndarray of int64, shape (items + 1,)
        First sentence of each item, and the number of sentences.
    """

    words: pd.DataFrame
    item: np.ndarray
    sentence: np.ndarray
    item_start: np.ndarray
    sentence_start: np.ndarray
    first_sentence: np.ndarray

    @cached_property
    def items(self) -> list[str]:
        """Return the items' labels, in reading order."""
        return self.words["item"].astype(str).iloc[self.item_start[:-1]].tolist()

    @cached_property
    def sentences(self) -> list[str]:
        """Return the sentences' labels, in reading order: the corpus's own, or their numbers."""
        column = "sentence_label" if "sentence_label" in self.words else "sentence"
        return self.words[column].astype(str).iloc[self.sentence_start[:-1]].tolist()

    @cached_property
    def spelled(self) -> np.ndarray:
        """Return each word normalised by `spelling`, shape (W,)."""
        return spellings(self.words["word"])

    @cached_property
    def lengths(self) -> np.ndarray:
        """Return each word's number of characters, shape (W,)."""
        return self.words["word"].str.len().to_numpy(dtype=float)


def index(words: pd.DataFrame) -> Index:
    """Index words (contract 1)."""

    def starts(column: pd.Series) -> tuple[np.ndarray, np.ndarray]:
        new = (column != column.shift()).to_numpy()
        return np.cumsum(new) - 1, np.append(np.flatnonzero(new), len(words))

    item, item_start = starts(words["item"].astype(str))
    both = words["item"].astype(str) + "\n" + words["sentence"].astype(str)
    sentence, sentence_start = starts(both)
    first = np.append(sentence[item_start[:-1]], len(sentence_start) - 1)
    return Index(words, item, sentence, item_start, sentence_start, first)


def spelling(word: str) -> str:
    """Return a word without case, accents and punctuation; "" for punctuation alone."""
    plain = _PUNCTUATION.sub("", word).casefold()
    return scripts.without_accents(plain)


def spellings(words: pd.Series) -> np.ndarray:
    """Return `spelling` of each word (ndarray of str), computed once per distinct word."""
    codes, unique = pd.factorize(words)
    return np.array([spelling(word) for word in unique], dtype=object)[codes]


def plain_label(label: str) -> str:
    """Normalise a label: no leading zeros, integers without decimals ("01", "1.0" → "1")."""
    return re.sub(r"^(\D*?)0*(\d+)(?:\.0+)?$", r"\1\2", label.strip())


def numbers(labels: Iterable[str]) -> np.ndarray | None:
    """Return labels as int64, or None if one is not an integer."""
    labels = list(labels)
    if not all(_NUMBER.fullmatch(label) for label in labels):
        return None
    return np.array([int(float(label)) for label in labels], dtype=np.int64)


def look_up(asked: pd.Series, values: list[str]) -> np.ndarray:
    """Return the number of each label among known ones, -1 if unknown (int64).

    "01", "1" and "1.0" are the same label unless one of the two sides distinguishes them.
    """
    codes, unique = pd.factorize(asked.astype(str))
    plain = [plain_label(label) for label in values], [plain_label(label) for label in unique]
    if len(set(plain[0])) == len(set(values)) and len(set(plain[1])) == len(unique):
        number_of = {label: number for number, label in reversed(list(enumerate(plain[0])))}
        numbers = [number_of.get(label, -1) for label in plain[1]]
    else:
        number_of = {label: number for number, label in reversed(list(enumerate(values)))}
        numbers = [number_of.get(label, -1) for label in unique]
    return np.array(numbers, dtype=np.int64)[codes]


def renamed(labels: pd.Series, names: Mapping | str | None, option: str) -> pd.Series:
    """Rename labels by the option `items`, `sentences` or `subjects` (label → label).

    Raises InputError if a name of the option is not among the labels.
    """
    if not isinstance(names, Mapping):
        return labels
    names = {str(label): str(name) for label, name in names.items()}
    unknown = [label for label in names if label not in set(labels)]
    if unknown:
        close = near(unknown[0], labels.unique())
        hint = f"; did you mean {close!r}?" if close else ""
        raise InputError(f"{option}: the table has no {unknown[0]!r}{hint}")
    return labels.map(lambda label: names.get(label, label))


def span(labels: list[str]) -> str:
    """Return labels in short: `1 to 10`, or the first of them."""
    number = numbers(labels)
    if number is not None and len(labels) > 1:
        return f"numbered from {number.min()} to {number.max()}"
    shown = ", ".join(map(repr, labels[:3]))
    return f"called {shown}" + (" …" if len(labels) > 3 else "")
