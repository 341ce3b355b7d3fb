"""A mixed model as the user specifies it: formula, rows and options, checked before fitting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from crosslmm import design as designs
from crosslmm import families
from crosslmm.design import Design
from crosslmm.errors import InputError, nearest
from crosslmm.expressions import variables
from crosslmm.formula import INTERCEPT, Formula, parse
from crosslmm.internal import Internal, Scale
from crosslmm.leaves import expressions_of, leaf_values, monomials_of
from crosslmm.levels import Levels
from crosslmm.standardised import Basis, Leaf, basis_of

ENGINES = ("auto", "lme4", "search")


@dataclass(frozen=True)
class ModelRequest:
    """The arguments of `lmer`."""

    text: str
    """the formula as given"""
    rows: pd.DataFrame = field(repr=False)
    """the columns that are used, without rows that lack a value"""
    engine: str = "auto"
    reml: bool = False
    family: str = families.GAUSSIAN
    link: str | None = None
    weights: str | None = None
    """a column of weights: a row's residual variance is sigma^2 divided by its weight"""
    offset: str | None = None
    """a column that is added to the linear predictor"""
    contrasts: Mapping[str, str] = field(default_factory=dict)

    @property
    def response(self) -> str:
        """The left side of the formula."""
        return self.text.partition("~")[0].strip()

    def text_in_r(self, shift: float = 0.0) -> str:
        """Return the formula for lme4, with the logarithm of lognormal responses and the offset."""
        left, tilde, right = self.text.partition("~")
        if self.family in (families.LOGNORMAL, families.SHIFTED):
            left = f"log({left.strip()} - {shift!r}) " if shift else f"log({left.strip()}) "
        added = f" + offset(`{self.offset}`)" if self.offset else ""
        return f"{left}{tilde}{right}{added}"


def check_request(
    formula: Any, data: pd.DataFrame, options: Mapping[str, Any]
) -> tuple[ModelRequest, list[str]]:
    """Check the arguments; return them with the columns that they use, and notes."""
    model = ModelRequest(formula, data, **options)
    supported = (*families.names(), *families.GENERALISED)
    if model.engine not in ENGINES:
        raise InputError(f"engine is {nearest(model.engine, ENGINES)}")
    if model.family not in supported:
        raise InputError(f"family is {nearest(model.family, dict.fromkeys(supported))}")
    _check_options(model)
    if not isinstance(formula, str):
        raise InputError(f"formula is {formula!r} and must be text, as 'y ~ x + (1 | group)'")
    used = [*variables(formula)]
    for name, column in (("weights", model.weights), ("offset", model.offset)):
        if column is not None and (not isinstance(column, str) or column not in data.columns):
            raise InputError(
                f"{name} is to be a column of the data, and {nearest(column, data.columns)}"
                if isinstance(column, str)
                else f"{name} is to be the name of a column of the data; put the values into one"
            )
        used += [column] if column and column not in used else []
    rows, dropped = designs.rows_of(data, used, formula)
    notes = [f"{dropped} of {len(data)} rows lack a value and were dropped"] if dropped else []
    for name in filter(None, (model.weights, model.offset)):
        _check_numbers(rows[name], "offset" if name == model.offset else "weights")
    if model.weights:
        _check_weights(rows[model.weights])
    return replace(model, rows=rows), notes


def _check_options(model: ModelRequest) -> None:
    """Raise an InputError if options are incompatible."""
    family = model.family
    if family in families.LINEAR:
        if model.reml and family != families.GAUSSIAN:
            raise InputError(
                f"reml=True is incompatible with family {family!r}, which is fitted by ML"
            )
        if model.link is not None:
            raise InputError(f"link is incompatible with family {family!r}")
        if family == families.SHIFTED and model.engine == "lme4":
            raise InputError(
                f'engine="lme4" is incompatible with family {family!r}, whose shift the search profiles'
            )
        return
    generalised = family in families.GENERALISED
    by = "lme4's glmer() fits by ML" if generalised else "is fitted by Laplace's approximation here"
    wrong = [
        ("reml=True", model.reml),
        ('engine="search"', generalised and model.engine == "search"),
        ('engine="lme4"', not generalised and model.engine == "lme4"),
        ("weights", not generalised and model.weights is not None),
        ("offset", not generalised and model.offset is not None),
        ("link", generalised and model.link is not None),
    ]
    for option, is_wrong in wrong:
        if is_wrong:
            raise InputError(f"{option} is incompatible with family {family!r}, which {by}")
    if model.link is not None and model.link not in families.links(family):
        raise InputError(
            f"link of family {family!r}: {nearest(model.link, families.links(family))}"
        )


def _check_numbers(values: pd.Series, what: str) -> None:
    if not designs.is_number(values):
        raise InputError(f"{what}: column {values.name!r} has {values.dtype} values, not numbers")
    odd = np.flatnonzero(~np.isfinite(values.to_numpy(np.float64)))
    if len(odd):
        row = values.index[odd[0]]
        raise InputError(f"{what}: column {values.name!r} is {values.iloc[odd[0]]} in row {row!r}")


def _check_weights(values: pd.Series) -> None:
    wrong = np.flatnonzero(values.to_numpy(np.float64) <= 0)
    if len(wrong):
        raise InputError(
            f"weights: column {values.name!r} is {values.iloc[wrong[0]]:g} in row "
            f"{values.index[wrong[0]]!r} ({len(wrong):,} such rows); weights must be above 0: leave "
            "such rows out"
        )


@dataclass
class Prepared:
    """The data of a formula: leaves of the columns and response (n,), grouping variables."""

    formula: Formula
    design: Design
    leaves: dict[Leaf, np.ndarray]
    y: np.ndarray
    groups: dict[str, Levels]
    fixed: Basis
    random: tuple[Basis, ...]
    family: str = families.GAUSSIAN
    weights: np.ndarray | None = None
    """(n,)"""
    offset: np.ndarray | None = None
    """(n,)"""

    def working(self, shift: float = 0.0) -> np.ndarray:
        """Return the linear model's response (n,): y or its logarithm, minus the offset."""
        z = (
            self.y
            if self.family not in (families.LOGNORMAL, families.SHIFTED)
            else self.logs(shift)
        )
        return z if self.offset is None else z - self.offset

    def logs(self, shift: float) -> np.ndarray:
        """Return log(y - shift) (n,)."""
        return np.log(self.y - shift)

    def scale(self, **more: float) -> Scale:
        """Return the transformation from the internal scale."""
        return Scale(self.design.formula, self.fixed, self.random, **more)

    def internal(self, y: np.ndarray, scale: Scale, weights: np.ndarray | None = None) -> Internal:
        """Return the model on the internal scale for a response (n,) on that scale."""
        n, given = len(y), self.design.formula
        predictors = dict(zip(self.fixed.names, self.fixed.values(self.leaves, n), strict=True))
        random = []
        for number, (term, basis) in enumerate(zip(given.random, self.random, strict=True)):
            labels = [c if c == INTERCEPT else f"{c}|{number}" for c in term.columns]
            predictors |= dict(zip(labels, basis.values(self.leaves, n), strict=True))
            random.append(replace(term, columns=tuple(labels)))
        formula = replace(given, fixed=self.fixed.names, random=tuple(random))
        return Internal(scale, formula, predictors, y, self.groups, weights)


def prepare(model: ModelRequest, with_response: bool = True) -> Prepared:
    """Read a formula and compute its columns from rows without missing values.

    Raises Uncovered if the formula is not supported here, and InputError if it is invalid.
    """
    text, rows = model.text, model.rows
    formula = parse(text)
    if not formula.random:
        raise InputError(f"formula {text!r} has no random term such as '(1 | subject)'")
    y = designs.response_of(formula, rows) if with_response else np.zeros(len(rows))
    if with_response and len(y) > 1 and not np.ptp(y) > 0:
        raise InputError(f"{formula.response} has one value, {y[0]:g}, in all rows")
    if families.is_positive(model.family):
        _check_positive(formula.response, y, rows, model.family)
    design = designs.make(formula, rows, model.contrasts)
    leaves = leaf_values(design, rows)
    monomials, expressions = monomials_of(design), expressions_of(design)

    def basis(columns: tuple[str, ...], fixed: bool) -> Basis:
        products = [monomials[column] for column in columns]
        return basis_of(columns, products, leaves, expressions, len(rows), fixed)

    weights, offset = (
        designs.numbers(rows[name]) if name else None for name in (model.weights, model.offset)
    )
    return Prepared(
        formula,
        design,
        leaves,
        y,
        designs.groups_of(formula, rows),
        basis(design.formula.fixed, True),
        tuple(basis(term.columns, False) for term in design.formula.random),
        model.family,
        weights,
        offset,
    )


def _check_positive(name: str, y: np.ndarray, rows: pd.DataFrame, family: str) -> None:
    wrong = np.flatnonzero(y <= 0)
    if len(wrong):
        listed = ", ".join(f"{y[i]:g} in row {rows.index[i]!r}" for i in wrong[:3])
        raise InputError(
            f"family {family} needs responses above 0, and {len(wrong):,} of {len(y):,} of {name} are "
            f"not: {listed}{' …' if len(wrong) > 3 else ''}; leave such rows out"
        )
