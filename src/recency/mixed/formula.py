"""Formulas of mixed models in lme4's notation, as far as this project writes them.

Supported: sums of predictors, products `a:b` and `a*b`, an intercept or `0 +`, and random terms
`(terms | group)` or, uncorrelated, `(terms || group)`, where a group may be nested (`a:b`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from recency.errors import InputError
from recency.names import nearest
from recency.reading.contracts import RESPONSES

INTERCEPT = "(Intercept)"
RANDOM = re.compile(r"\(([^()|]*)(\|\|?)([^()|]*)\)")
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


@dataclass(frozen=True)
class RandomTerm:
    """One random term: its columns (the intercept among them), its group, correlated or not."""

    columns: tuple[str, ...]
    group: str
    correlated: bool = True

    def __str__(self) -> str:
        return f"({_sum(self.columns)} {'|' if self.correlated else '||'} {self.group})"


@dataclass(frozen=True)
class Formula:
    """A mixed model: the fixed columns (the intercept among them) and the random terms.

    `response` is the observations' column on the left side, one of `datasets.contracts.RESPONSES`.
    """

    fixed: tuple[str, ...]
    random: tuple[RandomTerm, ...]
    response: str = RESPONSES[0]

    def __str__(self) -> str:
        return f"{self.response} ~ " + " + ".join([_sum(self.fixed), *map(str, self.random)])

    @property
    def predictors(self) -> list[str]:
        """The names of all predictors, in order of appearance."""
        columns = [*self.fixed, *(column for term in self.random for column in term.columns)]
        return list(dict.fromkeys(name for c in columns for name in factors(c)))

    @property
    def groups(self) -> list[str]:
        """The names of all grouping variables, in order of appearance."""
        return list(dict.fromkeys(name for t in self.random for name in t.group.split(":")))


def factors(column: str) -> list[str]:
    """Split a column into the predictors that it is the product of; none for the intercept."""
    return [] if column == INTERCEPT else column.split(":")


def column(name: str, predictors: Mapping[str, np.ndarray], rows: int) -> np.ndarray:
    """Return a column of the model (rows,): a predictor, a product of some, or the intercept."""
    values = np.ones(rows)
    for factor in factors(name):
        values = values * predictors[factor]
    return values


def parse(text: str, mixed: bool = True) -> Formula:
    """Read a formula; an InputError names the piece that cannot be read.

    A mixed model has random terms, any other none.
    """
    left, tilde, right = text.partition("~")
    response = left.strip()
    if not tilde or response not in RESPONSES:
        raise InputError(
            f"formula {text!r}: the left side is {response!r} and must be {' or '.join(RESPONSES)} "
            "(for the logarithm of a time set `response: log` in the design)"
        )
    random = tuple(
        RandomTerm(_columns(terms, text), _group(group, text), bar == "|")
        for terms, bar, group in RANDOM.findall(right)
    )
    rest = RANDOM.sub("", right).strip()
    pieces = [piece for piece in re.split(r"\s*\+\s*", rest) if piece]
    if mixed and not random:
        raise InputError(
            f"formula {text!r} has no random term such as '(1 | subject)'; "
            "for least squares on subject means set `engine: ols` in the design"
        )
    if random and not mixed:
        raise InputError(
            f"formula {text!r} has a random term, and `engine: ols` knows none; leave {random[0]} "
            "out or take the engine cross_products"
        )
    return Formula(_columns(" + ".join(pieces) or "1", text), random, response)


def check(formula: Formula, predictors: Collection[str], groups: Collection[str]) -> None:
    """Raise an InputError at the first name in `formula` that is no known predictor or group."""
    for kind, used, known in (
        ("predictor", formula.predictors, predictors),
        ("grouping variable", formula.groups, groups),
    ):
        for name in used:
            if name not in known:
                raise InputError(
                    f"formula '{formula}': no {kind} is called {nearest(name, known)}; there are: "
                    f"{', '.join(known)}"
                )


def without(formula: Formula, names: Iterable[str], slopes: bool) -> Formula:
    """Drop the fixed effects that `names` are part of and, if `slopes`, the random ones as well.

    Raises an InputError where one of `names` is no fixed effect of the formula.
    """
    names = list(names)
    for name in names:
        if not any(name == column or name in factors(column) for column in formula.fixed):
            raise InputError(
                f"of_interest names {name!r}, which is no fixed effect of '{formula}'; "
                "add it to the formula or take it out of of_interest"
            )

    def kept(columns: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(c for c in columns if c not in names and not set(names) & set(factors(c)))

    random = formula.random
    if slopes:
        random = tuple(replace(term, columns=kept(term.columns)) for term in random)
    random = tuple(term for term in random if term.columns)
    return replace(formula, fixed=kept(formula.fixed), random=random)


def _columns(text: str, formula: str) -> tuple[str, ...]:
    """Read `1 + a + a:b + c*d`; the intercept is there unless `0` or `-1` takes it out."""
    columns, intercept = [], True
    for piece in re.split(r"\s*\+\s*", re.sub(r"-\s*1\b", "+ 0", text).strip()):
        if piece in ("0", "1", ""):
            intercept = intercept and piece != "0"
            continue
        names = re.split(r"\s*[:*]\s*", piece)
        if not all(NAME.fullmatch(name) for name in names):
            raise InputError(
                f"formula {formula!r}: {piece!r} cannot be read; a term is a predictor, a product "
                "'a:b' or 'a*b', '1', '0', '(terms | group)' or '(terms || group)'"
            )
        if "*" in piece:
            if len(names) != 2 or ":" in piece:
                raise InputError(f"formula {formula!r}: write {piece!r} out as a + b + a:b …")
            columns += names
        columns.append(":".join(names) if len(names) > 1 else piece)
    columns = list(dict.fromkeys(columns))
    # R writes main effects before products; the order decides which of two equal columns stays.
    columns.sort(key=lambda column: column.count(":"))
    return (INTERCEPT, *columns) if intercept else tuple(columns)


def _group(text: str, formula: str) -> str:
    names = [name.strip() for name in text.split(":")]
    if not all(NAME.fullmatch(name) for name in names):
        raise InputError(
            f"formula {formula!r}: {text.strip()!r} is no grouping variable; write (1 | a / b) "
            "as (1 | a) + (1 | a:b)"
        )
    return ":".join(names)


def _sum(columns: tuple[str, ...]) -> str:
    terms = ["1" if column == INTERCEPT else column for column in columns]
    return " + ".join(terms if INTERCEPT in columns else ["0", *terms])
