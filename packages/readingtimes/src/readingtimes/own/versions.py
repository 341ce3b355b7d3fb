"""Items and conditions of an experiment in a table with a row per word: texts that are versions of one.

The texts of one item number differ between conditions. Which columns tell them apart is seen from the words:
with their values, each position of an item has one word. Versions have most of their words in common; other
texts under the same number, such as the fillers', do not, and are no condition of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import pandas as pd

from readingtimes.own.columns import MISSING_LABELS
from readingtimes.own.usual_names import LIST, snake

if TYPE_CHECKING:
    from readingtimes.own.begin import Described

_LEVELS = 20  # maximum number of levels of a factor
_FACTORS = 3  # maximum number of factors
_COLUMNS = 8  # that are tried
_SHARED = 0.5  # least share of the words of the longest version that all versions have


@dataclass(frozen=True)
class Versions:
    """Columns of an experiment: `stimulus` and `factors` together have one text.

    `are_conditions`: factors vary within readers; otherwise they are a list of texts, or a group.
    `rows` has factor → its levels, where it is empty for other texts, the fillers.
    """

    stimulus: list[str]
    factors: list[str]
    rows: dict[str, list[str]]
    are_conditions: bool = True

    @property
    def columns(self) -> dict[str, str | list[str]]:
        """The entry's columns item, stimulus and condition."""
        both = {"stimulus": self.stimulus, "condition": self.factors}
        if not self.are_conditions:
            del both["condition"]
        one = {name: of[0] if len(of) == 1 else of for name, of in both.items()}
        return {"item": [*self.stimulus, *self.factors], **one}


def find(texts: Described) -> Versions | None:
    """Return the columns of items and conditions; None if each number has one text, or texts of its own."""
    of = texts.roles.of
    label, position, word = of.get("item") or of.get("sentence"), of.get("position"), of.get("word")
    if label is None or position is None or word is None:
        return None
    used = {*of.values(), *texts.roles.measures.values()}
    labels = [
        column.name
        for column in texts.columns
        if column.name not in used
        and column.kind in ("text", "whole number")
        and 2 <= column.distinct <= _LEVELS
        and not LIST.search(snake(column.name))
    ][:_COLUMNS]
    words = texts.table.frame[[label, position, word, *labels]].drop_duplicates()
    words = words.assign(**{position: pd.to_numeric(words[position], errors="coerce")}).dropna()
    if _is_one_text(words, [label], position, word):
        return None
    tried = [those for n in range(1, _FACTORS + 1) for those in combinations(labels, n)]
    varied = set(labels)
    if "subject" in of:  # what differs within no reader is first of all a list of texts, or a group
        by_reader = texts.table.frame.groupby(of["subject"], sort=False)[labels].nunique()
        varied = {name for name in labels if (by_reader[name] > 1).any()}
        tried.sort(key=lambda those: not varied.issuperset(those))
    for factors in tried:
        there = ~words[list(factors)].isin(MISSING_LABELS)
        some = words[there.all(axis=1)]
        if words[label][~there.all(axis=1)].isin(some[label]).any():
            continue
        if not _is_one_text(some, [label, *factors], position, word):
            continue
        # A number may be counted from 1 in each of several experiments.
        for first in [[], *([name] for name in factors if len(factors) > 1)]:
            stimulus = [*first, label]
            rest = [name for name in factors if name not in first]
            if _are_versions(some, stimulus, rest, word):
                empty = [name for name in factors if not there[name].all()]
                rows = {name: sorted(some[name].unique()) for name in empty}
                return Versions(stimulus, rest, rows, varied.issuperset(rest))
    return None


def _is_one_text(words: pd.DataFrame, keys: list[str], position: str, word: str) -> bool:
    """Return whether each cell of `keys` has all of its positions, with one word each."""
    distinct = words[[*keys, position, word]].drop_duplicates()
    if distinct.duplicated([*keys, position]).any():
        return False
    places = distinct.groupby(keys, sort=False)[position].agg(["size", "min", "max"])
    return bool((places["size"] == places["max"] - places["min"] + 1).mean() > 0.5)


def _are_versions(words: pd.DataFrame, stimulus: list[str], factors: list[str], word: str) -> bool:
    """Return whether most stimuli of several texts have words that these share."""
    cells = words.groupby([*stimulus, *factors], sort=False)[word].agg(frozenset)
    several = [of for _, of in cells.groupby(level=list(range(len(stimulus)))) if len(of) > 1]
    shared = [len(frozenset.intersection(*of)) >= _SHARED * max(map(len, of)) for of in several]
    return bool(shared) and sum(shared) == len(shared)
