"""The join report, and errors of joins with nearest keys, candidates, and lines that select them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
import pandas as pd

from recency.errors import InputError
from recency.reading.joins import index as labels
from recency.reading.joins.evidence import Evidence
from recency.reading.joins.index import Index
from recency.reading.joins.readings import Candidate

_VERIFIED = {
    "words": "verified by the words",
    "lengths": "verified by the words' lengths",
    "ids": "verified by the words' ids in their corpus",
    "sizes": "verified by the sizes of the texts",
    "correlation": "verified by the values' correlation with word length",
    "join": "selected by `join`, not verified",
}

#: Maximum number of texts whose first mismatch an error shows.
_TEXTS = 3
_MAP_WORD = "; map `word`, so that the join can be verified"


def report(
    words: Index, rows: pd.DataFrame, best: Candidate, weight: Evidence, verified: str
) -> str:
    """Return the join report: keys, share of rows, share of identical words, three examples."""
    matched = int(rows["rows"].to_numpy()[best.row >= 0].sum())
    text = f"{best.line()}: {matched:,} of {rows['rows'].sum():,} rows have a word"
    text += f"; {_VERIFIED[verified]}"
    if weight.same is not None:
        text += f", {_percent(weight.same)} of which are the same"
    if len(weight.differ) and "word" in rows:
        shown = [
            f"{rows['word'].iloc[row]!r} for {words.words['word'].iloc[best.row[row]]!r}"
            for row in weight.differ[:3]
        ]
        text += f"; not the same: {', '.join(shown)}"
    return text


def no_candidate(where: object, rows: pd.DataFrame, chosen: Mapping[str, str]) -> NoReturn:
    """Raise InputError: no alignment is possible at all."""
    keys = [k for k in ("item", "sentence", "position", "word_id", "offset", "word") if k in rows]
    if chosen:
        chosen_keys = ", ".join(f"{key}: {value}" for key, value in chosen.items())
        raise InputError(
            f"{where}: no row has a word under `join: {{{chosen_keys}}}`; keys in the table: "
            f"{', '.join(keys)}"
        )
    raise InputError(
        f"{where}: no row has a word in the dataset (keys: {', '.join(keys)}); is this the table of "
        "another dataset? If texts have other labels, `items: {label: label}` maps them"
    )


@dataclass(frozen=True)
class Problem:
    """Data for errors about a join."""

    where: object
    words: Index
    rows: pd.DataFrame
    weighed: list[tuple[Candidate, Evidence]]

    def refuse(self, why: str, several: list[tuple[Candidate, Evidence]] | None = None) -> NoReturn:
        """Raise InputError with up to three candidates, their shares and the lines that select them."""
        several = several or sorted(
            self.weighed, key=lambda item: (item[1].identical, item[1].matched), reverse=True
        )
        shown = "; ".join(f"`{c.line()}`: {_shares(e)}" for c, e in several[:3])
        example = ""
        if len(several[0][1].differ) and "word" in self.rows:
            example = f" ({self._differing(*several[0])})"
        way = "" if "word" in self.rows else _MAP_WORD
        raise InputError(f"{self.where}: {why}{example}. Candidates: {shown}{way}")

    def _differing(self, best: Candidate, weight: Evidence) -> str:
        """Describe the first mismatching row of each text."""
        rows = np.sort(np.asarray(weight.differ))
        matched = self.words.words.iloc[best.row[rows]]
        first = rows[~matched["item"].duplicated().to_numpy()]
        described = [
            f"line {self.rows['line'].iloc[row]}: {self.rows['word'].iloc[row]!r}, the words have "
            f"{self.words.words['word'].iloc[best.row[row]]!r} there"
            for row in first[:_TEXTS]
        ]
        if len(first) > _TEXTS:
            described.append(f"and in {len(first) - _TEXTS:,} further texts")
        return "; ".join(described)

    def unmatched(self, candidate: Candidate) -> NoReturn:
        """Raise InputError for the first row without a word, with the nearest key."""
        missing = candidate.row < 0
        row = int(np.argmax(missing))
        count = int(self.rows["rows"].to_numpy()[missing].sum())
        line = self.rows["line"].iloc[row]
        text = f"{self.where}, line {line}: {self._place(row)} has no word ({count:,} such rows); "
        text += self._nearest(row)
        better = [
            (c, e)
            for c, e in self.weighed
            if c is not candidate and e.matched > 1 - missing.mean() and e.matched > 0.5
        ]
        if better:
            c, e = max(better, key=lambda item: item[1].matched)
            text += f"; `{c.line()}` would match {_percent(e.matched)} of rows"
        if "word" not in self.rows:
            text += _MAP_WORD
        raise InputError(text)

    def _place(self, row: int) -> str:
        """Describe a row by its keys."""
        keys = [k for k in ("item", "sentence", "position", "word_id") if k in self.rows]
        parts = []
        for key in keys:
            value = self.rows[key].iloc[row]
            parts.append(f"{key} {value!r}" if not str(value).isdigit() else f"{key} {value}")
        return ", ".join(parts) or f"{self.rows['word'].iloc[row]!r}"

    def _nearest(self, row: int) -> str:
        """Describe the labels or sizes of the words."""
        for key, labels_of_words in (
            ("item", self.words.items),
            ("sentence", self.words.sentences),
        ):
            if key not in self.rows:
                continue
            asked = self.rows[key].iloc[[row]]
            if (labels.look_up(asked, labels_of_words) < 0).all():
                text = f"{key}s of the words are {labels.span(labels_of_words)}"
                if labels.numbers(asked) is None:
                    text += f"; `{key}s: {{{asked.iloc[0]}: {labels_of_words[0]}, …}}` maps {key}s"
                    text += self._by_order(key)
                return text
        return f"the words have {self._size(row)}"

    def _by_order(self, key: str) -> str:
        """Describe the alignment by order of appearance."""
        ordered = [(c, e) for c, e in self.weighed if "order" in c.keys.get(key, ())]
        if not ordered:
            return ""
        _, weight = max(ordered, key=lambda item: (item[1].identical, item[1].matched))
        of = f"{_percent(weight.same)} of words agree" if weight.same is not None else (
            f"{_percent(weight.matched)} of rows have a word"
        )  # fmt: skip
        return f"; by order of appearance (`{key}s: order`) {of}"

    def _size(self, row: int) -> str:
        """Return the number of words of a row's sentence or item, or of all."""
        for key, labels_of_words, start in (
            ("sentence", self.words.sentences, self.words.sentence_start),
            ("item", self.words.items, self.words.item_start),
        ):
            if key in self.rows:
                unit = int(labels.look_up(self.rows[key].iloc[[row]], labels_of_words)[0])
                return f"{start[unit + 1] - start[unit]} words in {key} {labels_of_words[unit]}"
        return f"{len(self.words.words):,} words"


def _shares(weight: Evidence) -> str:
    """Describe the shares of a candidate."""
    text = f"{_percent(weight.matched)} of rows have a word"
    if weight.same is not None:
        text += f", {_percent(weight.same)} of them the same"
    return text


def _percent(share: float) -> str:
    """Return a share in percent, never rounded to 100 % from below."""
    return f"{min(share * 100, 99.9 if share < 1 else 100):.3g} %"
