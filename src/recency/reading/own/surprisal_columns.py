"""Recognise columns of surprisals, their unit, and their LMs."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import pandas as pd

from recency.reading.own.profile import Column
from recency.reading.own.roles import Roles, snake

_NAMED = re.compile(
    r"surp|log_?p(rob)?s?\b|logprob|(^|_)lp($|_)|(^|_)nll($|_)|(^|_)prob(ability)?s?($|_)|bits|nats"
)
_OTHER = re.compile(r"freq|count|length|rank|entropy|zipf|unigram|age|acc|score_?id|tok_?count")
_UNITS = (
    ("bits", r"bit|log_?2"),
    ("nats", r"nat(s|$|_)|(^|_)ln($|_)"),
    ("log10", r"log_?10"),
)
_TOKENS = re.compile(r"^(?:Ġ|▁|##|<0x[0-9A-F]{2}>)")
_WORD_ID = re.compile(r"word_?id|wordid|word_index_in_corpus")


@dataclass
class Scores:
    """A table of surprisals: LM → column, quantity, unit, and join keys."""

    columns: dict[str, str]
    value: str
    unit: str
    is_stated: bool
    mean: float
    keys: dict[str, str] = field(default_factory=dict)


def find(columns: Sequence[Column], roles: Roles, table: pd.DataFrame) -> Scores | None:
    """Return the surprisals of a table by names and values, None if there are none.

    A value below 0 is a log-probability, one of 0 to 1 a probability. A unit that no name states is
    estimated from the mean (natural text has more than 6.5 bits or 4.5 nats a word), and
    `is_stated` is False.
    """
    used = {*roles.of.values()}
    free = [c for c in columns if c.kind == "number" and c.name not in used]
    free = [c for c in free if not _OTHER.search(snake(c.name))]
    named = [c for c in free if _NAMED.search(snake(c.name))]
    chosen = named or [c for c in free if "word" in roles.of and _can_be(c)]
    if not chosen:
        return None
    kinds = {_kind(c) for c in chosen}
    kind = _kind(chosen[0])
    chosen = [c for c in chosen if _kind(c) == kind] if len(kinds) > 1 else chosen
    values = pd.to_numeric(table[chosen[0].name], errors="coerce")
    mean = float(values.abs().mean())
    unit, is_stated = _unit(chosen, mean)
    scores = Scores({_lm(c.name, chosen): c.name for c in chosen}, kind, unit, is_stated, mean)
    scores.keys = _keys(columns, roles, table)
    return scores


def _can_be(column: Column) -> bool:
    """Return whether numbers in an unnamed column can be surprisals."""
    return (
        column.low >= 0 and 0.5 < column.middle < 25 and column.high < 100 and column.distinct > 20
    )


def _kind(column: Column) -> str:
    if column.high <= 0 and column.low < 0:
        return "logprob"
    return "probability" if 0 < column.low and column.high <= 1 else "surprisal"


def _unit(columns: Sequence[Column], mean: float) -> tuple[str, bool]:
    """Return the unit of log-probabilities, and whether a name states it."""
    for unit, pattern in _UNITS:
        if all(re.search(pattern, snake(column.name)) for column in columns):
            return unit, True
    return ("bits" if mean > 6.5 else "nats"), False


def _lm(name: str, columns: Sequence[Column]) -> str:
    """Return a name for the LM of a column: the column's, without the part that all share."""
    short = re.sub(
        r"_?(surprisals?|surp|logprobs?|log_prob|bits|nats)_?", "", name, flags=re.IGNORECASE
    )
    names = [
        re.sub(
            r"_?(surprisals?|surp|logprobs?|log_prob|bits|nats)_?", "", c.name, flags=re.IGNORECASE
        )
        for c in columns
    ]
    short = short if short and len(set(names)) == len(names) and all(names) else name
    return re.sub(r"[^A-Za-z0-9._-]+", "-", short).strip("-._") or "mine"


def _keys(columns: Sequence[Column], roles: Roles, table: pd.DataFrame) -> dict[str, str]:
    """Return join key → column."""
    keys = {
        key: roles.of[key] for key in ("item", "sentence", "position", "word") if key in roles.of
    }
    if "word" in keys and table[keys["word"]].str.contains(_TOKENS).mean() > 0.1:
        keys["token"] = keys.pop("word")
    for column in columns:
        if _WORD_ID.fullmatch(snake(column.name)) and column.kind == "whole number":
            keys["word_id"] = column.name
            keys = {k: c for k, c in keys.items() if k != "position" or c != column.name}
    if "position" in keys and not keys.keys() & {"item", "sentence", "word_id"}:
        del keys["position"]
    return keys
