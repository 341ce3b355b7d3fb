"""Formulas of mixed models in lme4's notation.

Supported are sums of terms, `a:b`, `a*b`, `a/b`, `(a + b)^2`, `- a`, an intercept or `0 +`, `- 1`,
and random terms `(terms | group)` or, uncorrelated, `(terms || group)`, where a group may be nested
(`a/b`, `a:b`). A term consists of columns, in backticks where R needs them, and of calls of the
functions in `crosslmm.expressions`: log(a), I(a^2), scale(a), factor(a), poly(a, 2) …
"""

import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from crosslmm.errors import InputError, nearest
from crosslmm.expressions import Reader, Uncovered, names, read, split_product, written

INTERCEPT = "(Intercept)"
#: Largest depth of nested brackets; R's time doubles with each level.
DEEPEST = 10
#: Largest number of operations in the response, or in one pair of outermost brackets.
LONGEST = 100


@dataclass(frozen=True)
class RandomTerm:
    """One random term: its columns including an intercept, its group, whether it is correlated."""

    columns: tuple[str, ...]
    group: str
    correlated: bool = True

    def __str__(self) -> str:
        return f"({_sum(self.columns)} {'|' if self.correlated else '||'} {self.group})"


@dataclass(frozen=True)
class Formula:
    """A mixed model: the response, the fixed columns including an intercept, and random terms.

    `scale` is the formula of the log of the residuals' scale, if it is not constant.
    """

    response: str
    fixed: tuple[str, ...]
    random: tuple[RandomTerm, ...]
    scale: "Formula | None" = None

    def __str__(self) -> str:
        text = f"{self.response} ~ " + " + ".join([_sum(self.fixed), *map(str, self.random)])
        return text if self.scale is None else f"{text}, {self.scale}"

    @property
    def predictors(self) -> list[str]:
        """The names of all predictors, in order of appearance."""
        columns = [*self.fixed, *(column for term in self.random for column in term.columns)]
        of_scale = self.scale.predictors if self.scale else []
        return list(dict.fromkeys([*(name for c in columns for name in factors(c)), *of_scale]))

    @property
    def groups(self) -> list[str]:
        """The names of all grouping variables, in order of appearance."""
        of_scale = self.scale.groups if self.scale else []
        names = (name for term in self.random for name in split_product(term.group))
        return list(dict.fromkeys([*names, *of_scale]))


def factors(column: str) -> list[str]:
    """Split a column into the predictors whose product it is; none for the intercept."""
    return [] if column == INTERCEPT else split_product(column)


def column(name: str, predictors: Mapping[str, np.ndarray], rows: int) -> np.ndarray:
    """Return a column of the model (rows,): a predictor, a product of several, or the intercept."""
    if name in predictors:
        return predictors[name]
    values = np.ones(rows)
    for factor in factors(name):
        values = values * predictors[factor]
    return values


def parse(text: str) -> Formula:
    """Read a formula; raise an InputError that names the part that cannot be read.

    The error is Uncovered if R might read it. A formula without random terms is accepted, although
    it is not a mixed model.
    """
    depths = [*itertools.accumulate((sign == "(") - (sign == ")") for sign in text)]
    if max(depths, default=0) > DEEPEST:
        raise InputError(f"formula '{text[:40]}…' has brackets more than {DEEPEST} levels deep")
    inside = itertools.groupby(zip(depths, text, strict=True), lambda at: at[0] > 0)
    bracketed = ([sign for _, sign in part] for is_inside, part in inside if is_inside)
    # A fixed limit, since Python's recursion limit differs between processes.
    for expression in (text.partition("~")[0], *bracketed):
        if sum(sign in "+-*/^:" for sign in expression) > LONGEST:
            raise InputError(
                f"formula '{text[:40]}…' has an expression of more than {LONGEST} operations; "
                "make it a column of the data"
            )
    return _parse(text)


def _parse(text: str) -> Formula:
    reader = _Formulas(text)
    if reader.next == "~":
        raise InputError(f"formula {text!r} has no response on its left side")
    response = written(reader.expression())
    reader.take("~")
    fixed, random = reader.sum(), tuple(reader.random)
    if reader.next:
        raise Uncovered(f"formula {text!r}: {reader.next!r} cannot be read here")
    return Formula(response, fixed.columns(reader.seen), random)


def check(formula: Formula, predictors: Collection[str], groups: Collection[str]) -> None:
    """Raise an InputError at the first name in `formula` that is not a known predictor or group."""
    for kind, used, allowed in (
        ("predictor", formula.predictors, predictors),
        ("grouping variable", formula.groups, groups),
    ):
        for name in used:
            if name not in allowed:
                raise InputError(
                    f"formula '{formula}': no {kind} is called {nearest(name, allowed)}; there are: "
                    f"{', '.join(allowed)}"
                )


def without(
    formula: Formula, dropped: Iterable[str], slopes: bool, also: Iterable[str] = ()
) -> Formula:
    """Drop the fixed effects that contain one of `dropped` and, with `slopes`, the random ones too.

    Each of `dropped` is a term, a factor of terms, or a column in a factor's expression: `x` also
    drops log(x). Raises an InputError if one is not part of a fixed effect. `also` are dropped in
    the same way, but need not occur.
    """
    dropped = list(dropped)
    for name in dropped:
        if not any(_part_of(name, column) for column in formula.fixed):
            raise InputError(
                f"of_interest names {name!r}, which is no fixed effect of '{formula}'; "
                "add it to the formula or take it out of of_interest"
            )
    dropped += also

    def kept(columns: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(c for c in columns if not any(_part_of(name, c) for name in dropped))

    random = formula.random
    if slopes:
        random = tuple(replace(term, columns=kept(term.columns)) for term in random)
    random = tuple(term for term in random if term.columns)
    scale = formula.scale and without(formula.scale, (), slopes, dropped)
    return replace(formula, fixed=kept(formula.fixed), random=random, scale=scale)


def _part_of(name: str, column: str) -> bool:
    """Return whether a column of a model is `name`, or computed from it."""
    parts = factors(column)
    if name == column or name in parts:
        return True
    return any(name.strip("`") in names(read(part)) for part in parts)


def replace_predictors(formula: Formula, by_name: Mapping[str, Sequence[str]]) -> Formula:
    """Replace some predictors by other columns, such as a categorical one by its indicators.

    A random term without remaining columns is dropped.
    """

    def columns(old: Sequence[str]) -> tuple[str, ...]:
        new = []
        for column in old:
            parts = [by_name.get(name, [name]) for name in factors(column)]
            new += [":".join(one) for one in product(*parts)] if parts else [column]
        return tuple(new)

    random = (replace(term, columns=columns(term.columns)) for term in formula.random)
    random = tuple(term for term in random if term.columns)
    scale = formula.scale and replace_predictors(formula.scale, by_name)
    return replace(formula, fixed=columns(formula.fixed), random=random, scale=scale)


Term = tuple[str, ...]
"""The factors whose product a term is; none for the intercept."""


@dataclass
class _Sum:
    """Terms of one side of a formula, and whether it has an intercept; None if unspecified."""

    terms: list[Term]
    intercept: bool | None = None

    def columns(self, seen: list[str]) -> tuple[str, ...]:
        """Return the terms in R's order: main effects before products.

        A term names its factors in the order of their first occurrence in the formula (`seen`).
        """
        terms = [":".join(sorted(term, key=seen.index)) for term in self.terms]
        terms.sort(key=lambda term: len(factors(term)))
        return tuple(terms) if self.intercept is False else (INTERCEPT, *terms)


class _Formulas(Reader):
    """A reader of a formula's right side, with R's rules for the algebra of terms."""

    def __init__(self, text: str):
        super().__init__(text)
        self.random: list[RandomTerm] = []
        self.seen: list[str] = []
        self.depth = 0

    def sum(self) -> _Sum:
        """Read a sum of terms that are added and removed."""
        sign = self.take().text if self.next in ("-", "+") else "+"
        total = _Sum([])
        while True:
            right = self._product()
            if right.intercept is not None:
                total.intercept = right.intercept == (sign == "+")
            if sign == "+":
                total.terms = _distinct(total.terms + right.terms)
            else:
                gone = [set(term) for term in right.terms]
                total.terms = [term for term in total.terms if set(term) not in gone]
            if self.next not in ("+", "-"):
                return total
            sign = self.take().text

    def _product(self) -> _Sum:
        left = self._interaction()
        while self.next in ("*", "/"):
            operator = self.take().text
            right = self._interaction()
            self._check_terms(left, right)
            inner = left.terms if operator == "*" else [_unique(sum(left.terms, ()))]
            both = left.terms + (right.terms if operator == "*" else [])
            left = _Sum(_distinct(both + _crossed(inner, right.terms)))
        return left

    def _interaction(self) -> _Sum:
        left = self._power()
        while self.next == ":":
            self.take()
            right = self._power()
            self._check_terms(left, right)
            left = _Sum(_crossed(left.terms, right.terms))
        return left

    def _power(self) -> _Sum:
        base = self._term()
        if self.next != "^":
            return base
        self.take()
        power = self.take()
        if not power.text.isdigit() or not 1 <= int(power.text) <= 9:
            raise InputError(f"formula {self.text!r}: the power {power.text!r} is none from 1 to 9")
        terms = base.terms
        for _ in range(int(power.text) - 1):
            terms = _crossed(terms, base.terms)  # a term crossed with itself is the term, as in R
        return replace(base, terms=terms)

    def _term(self) -> _Sum:
        if self.next == "(":
            return self._parenthesis()
        if self.next in ("0", "1"):
            return _Sum([], self.take().text == "1")
        expression = self._primary()
        if expression.kind == "number":
            raise InputError(f"formula {self.text!r}: {expression.value} is no term")
        self.seen.append(written(expression))
        return _Sum([(self.seen[-1],)])

    def _parenthesis(self) -> _Sum:
        start = self.position
        self.take("(")
        self.depth += 1
        before_it, self.seen = self.seen, []
        inner = self.sum()
        within, self.seen = self.seen, before_it
        self.depth -= 1
        if self.next in ("|", "||"):
            before = self.tokens[start - 1].text
            correlated = self.take().text == "|"
            groups = self._groups()
            self.take(")")
            if self.depth or before not in ("~", "+") or self.next not in ("+", "-", ""):
                raise InputError(
                    f"formula {self.text!r}: a random term can only be added to the others"
                )
            columns = inner.columns(within)
            if not columns:
                raise InputError(f"formula {self.text!r}: a random term has nothing that varies")
            self.random += [RandomTerm(columns, group, correlated) for group in groups]
            return _Sum([])
        self.take(")")
        self.seen += within
        return inner

    def _groups(self) -> list[str]:
        """Read the groups after the bar; `a/b` is the groups a and b:a, as lme4 names them."""
        groups = [self._group()]
        while self.next == "/":
            self.take()
            groups.append(f"{self._group()}:{groups[-1]}")
        return groups

    def _group(self) -> str:
        names = [self.take().text]
        while self.next == ":":
            self.take()
            names.append(self.take().text)
        if not self.next:
            self.take(")")
        start = self.position - 2 * len(names) + 1
        kinds = {token.kind for token in self.tokens[start : self.position : 2]}
        if kinds != {"name"} or self.next not in ("/", ")"):
            raise Uncovered(
                f"formula {self.text!r}: {' '.join((*names, self.next))!r} is no grouping variable "
                "that can be read; write (… | a), (… | a:b) or (… | a/b)"
            )
        return ":".join(names)

    def _check_terms(self, *sides: _Sum) -> None:
        if any(side.intercept is not None or not side.terms for side in sides):
            raise InputError(f"formula {self.text!r}: 0, 1 and random terms are in no product")


def _crossed(left: list[Term], right: list[Term]) -> list[Term]:
    return _distinct([_unique(a + b) for a in left for b in right])


def _distinct(terms: list[Term]) -> list[Term]:
    distinct: dict[frozenset, Term] = {}
    for term in terms:
        distinct.setdefault(frozenset(term), term)
    return list(distinct.values())


def _unique(names: Term) -> Term:
    return tuple(dict.fromkeys(names))


def _sum(columns: tuple[str, ...]) -> str:
    terms = ["1" if column == INTERCEPT else column for column in columns]
    return " + ".join(terms if INTERCEPT in columns else ["0", *terms])
