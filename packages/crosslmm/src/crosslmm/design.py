"""The columns of a model from a data frame: values of terms, categorical columns by R's rules.

Categorical columns (text, categories, booleans) have treatment contrasts by default: a 0/1 column
for each level but the first, in alphabetical order or that of the categories. As in R, a factor has
a column for every level if the model lacks the term without it.

R's orthogonal polynomials, poly(x, degree), computed from fitted data and applied to any.

Contrast codings, as R's contr.treatment(), contr.sum(), contr.helmert(), MASS's contr.sdif().

Effects that cannot be estimated: empty cells of categorical columns, and separated events.

The columns of a design as products of powers of leaves, so that they can be centred.

x, I(x^2) and I(x * z):c are powers and products of the leaves x, z and an indicator of c. Any other
expression, such as log(x), is a leaf itself.
"""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pandas as pd
from scipy.optimize import linprog

from crosslmm.errors import InputError, nearest
from crosslmm.expressions import Expression, Uncovered, evaluate, names, read, written
from crosslmm.factors import Levels
from crosslmm.formula import INTERCEPT, Formula, RandomTerm, factors
from crosslmm.standardised import Monomial


@dataclass(frozen=True)
class Basis:
    """The recurrence of monic orthogonal polynomials, as in R's attribute `coefs`.

    p[k+1](x) = (x - alpha[k]) p[k](x) - norm2[k+1] / norm2[k] p[k-1](x); norm2 starts with 1, then
    has the sum of squares of each polynomial from degree 0 on.
    """

    alpha: tuple[float, ...]
    norm2: tuple[float, ...]

    def values(self, x: np.ndarray) -> np.ndarray:
        """Return the polynomials from degree 1 at `x` (n,): (n, degree), of unit length."""
        before, now, columns = np.zeros(len(x)), np.ones(len(x)), []
        for k, alpha in enumerate(self.alpha):
            before, now = now, (x - alpha) * now - self.norm2[k + 1] / self.norm2[k] * before
            columns.append(now / np.sqrt(self.norm2[k + 2]))
        return np.column_stack(columns)


def basis_of(x: np.ndarray, degree: int, name: str, counts: np.ndarray | None = None) -> Basis:
    """Return the basis of values `x` (m,), which occur once each or `counts` (m,) times.

    `name` is the term in the InputError for too few distinct values.
    """
    x, weights = np.asarray(x, np.float64), np.ones(len(x)) if counts is None else counts
    distinct = len(np.unique(x))
    if distinct <= degree:
        raise InputError(
            f"{name}: its {distinct} different values have polynomials up to degree {distinct - 1}"
        )
    alpha: list[float] = []
    norm2 = [1.0, float(weights.sum())]
    before, now = np.zeros(len(x)), np.ones(len(x))
    for k in range(degree):
        # Relative to the last centre, so that a mean far from 0 costs no digits.
        centre = float(np.average(x, weights=weights))
        alpha.append(centre + float((weights * (x - centre) * now**2).sum()) / norm2[-1])
        before, now = now, (x - alpha[k]) * now - norm2[k + 1] / norm2[k] * before
        norm2.append(float((weights * now**2).sum()))
    return Basis(tuple(alpha), tuple(norm2))


@dataclass(frozen=True)
class Coding:
    """Contrasts of a categorical column: R's label of each, and its value at each level."""

    labels: tuple[str, ...]
    values: np.ndarray
    """(levels, levels - 1)"""

    def comparisons(self) -> np.ndarray:
        """Return the weights (levels - 1, levels) of level means that the coefficients estimate."""
        k = len(self.values)
        return np.linalg.inv(np.column_stack([np.ones(k), self.values]))[1:]


def treatment(levels: Sequence[str]) -> Coding:
    """Compare each level with the first one."""
    return Coding(tuple(levels[1:]), np.eye(len(levels))[:, 1:])


def deviation(levels: Sequence[str]) -> Coding:
    """Compare each level but the last one with the mean of all levels."""
    k = len(levels)
    values = np.vstack([np.eye(k - 1), -np.ones(k - 1)])
    return Coding(_numbered(k), values)


def helmert(levels: Sequence[str]) -> Coding:
    """Compare each level but the first one with the mean of those before it."""
    k = len(levels)
    values = np.zeros((k, k - 1))
    for c in range(k - 1):
        values[: c + 1, c], values[c + 1, c] = -1, c + 1
    return Coding(_numbered(k), values)


def backward_difference(levels: Sequence[str]) -> Coding:
    """Compare each level with the one before it."""
    k = len(levels)
    row, column = np.arange(1, k + 1)[:, None], np.arange(1, k)
    values = (column - k * (row <= column)) / k
    return Coding(tuple(f"{b}-{a}" for a, b in itertools.pairwise(levels)), values)


def _numbered(k: int) -> tuple[str, ...]:
    return tuple(str(c) for c in range(1, k))


CODINGS: dict[str, Callable[[Sequence[str]], Coding]] = {
    "treatment": treatment,
    "sum": deviation,
    "helmert": helmert,
    "backward_difference": backward_difference,
}


Part = tuple[str, int | str | None]
"""A factor of a column: its name, and for a categorical one the level of the indicator or the label
of the contrast; for poly(x, n) the degree, from 0."""


@dataclass(frozen=True)
class Design:
    """How a formula's columns are computed from data, fixed by the data of the fit.

    `formula` has columns in place of terms; `columns` lists the factors of each.
    """

    formula: Formula
    columns: dict[str, tuple[Part, ...]]
    levels: dict[str, list[str]]
    """by categorical factor"""
    statistics: dict[str, tuple[float, float]]
    """mean and sample standard deviation of each scale(…)"""
    polynomials: dict[str, Basis]
    """by poly(x, degree)"""
    codings: dict[str, Coding]
    """by categorical factor with other contrasts than treatment"""


def rows_of(data: pd.DataFrame, used: Sequence[str], formula: str) -> tuple[pd.DataFrame, int]:
    """Return the columns `used` without rows that lack a value, and the number of those rows."""
    for name in used:
        if name not in data.columns:
            raise InputError(
                f"formula {formula!r}: the data have no column "
                f"{nearest(name, map(str, data.columns))}"
            )
        if data.columns.tolist().count(name) > 1:
            raise InputError(f"the data have several columns {name!r}; rename all but one")
    frame = data[list(used)]
    kept = frame.notna().all(axis=1).to_numpy()
    if not kept.any():
        raise InputError(
            f"formula {formula!r}: no row of the {len(data)} has a value in each of its columns: "
            f"{', '.join(used)}"
        )
    dropped = int((~kept).sum())
    frame = frame[kept] if dropped else frame
    objects = [name for name in used if frame[name].dtype == object]
    return frame.assign(**{name: _common_type(frame[name]) for name in objects}), dropped


def _common_type(values: pd.Series) -> pd.Series:
    """Return a column of objects with the common type of its values, such as numbers."""
    kind = pd.api.types.infer_dtype(values)
    return values.astype(np.float64) if kind == "decimal" else values.infer_objects()


_NUMBERS = 0.95
"""Share of a column's rows that are numbers, from which its levels are said to be those."""


def levels_notes(formula: Formula, data: pd.DataFrame) -> list[str]:
    """Name predictors that are treated as categorical although they hold numbers or numeric text."""
    notes = []
    for name in dict.fromkeys(name for term in formula.predictors for name in names(read(term))):
        values = data[name]
        if values.dtype != object and not pd.api.types.is_string_dtype(values):
            continue
        numeric = pd.to_numeric(values, errors="coerce").notna()
        commas = values.astype("str").str.fullmatch(r"-?\d+(,\d+)?")
        if numeric.all():
            notes.append(f"column {name!r} holds text that reads as numbers: treated as levels")
        elif commas.all():
            notes.append(f"column {name!r} holds numbers with decimal commas: treated as levels")
        elif numeric.mean() >= _NUMBERS:
            odd = values[~numeric].iloc[0]
            notes.append(
                f"column {name!r} holds numbers but for {(~numeric).sum():,} rows, such as {odd!r}: treated as "
                "levels"
            )
        elif pd.api.types.infer_dtype(values).startswith("mixed"):
            notes.append(f"column {name!r} holds values of several types: treated as levels")
    return notes


def is_number(values: pd.Series) -> bool:
    """Return whether a column is numeric; booleans are not."""
    return pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values)


def categorical(values: pd.Series) -> Levels:
    """Code a column's levels, named as in R, in the categories' order or alphabetically.

    Values that R writes the same way, such as 1 and "1", are one level.
    """
    if not isinstance(values.dtype, pd.CategoricalDtype):
        codes, labels = pd.factorize(values, sort=True)
    else:
        present = values.cat.remove_unused_categories()
        codes, labels = present.cat.codes.to_numpy(np.int64), present.cat.categories
    written = [_level(level) for level in labels]
    distinct = list(dict.fromkeys(written))
    if len(distinct) < len(written):  # 1 and "1" are one level
        codes = np.array([distinct.index(name) for name in written])[codes]
    return Levels(codes, distinct)


def numbers(values: pd.Series) -> np.ndarray:
    """Return a numeric or boolean column (n,) as floats; raise an InputError for any other."""
    if pd.api.types.is_complex_dtype(values):
        raise InputError(f"column {values.name!r} has complex numbers")
    if not pd.api.types.is_numeric_dtype(values):
        text = values.astype("str")
        odd = text[pd.to_numeric(text, errors="coerce").isna()]
        first = f", such as {odd.iloc[0]!r} in row {odd.index[0]!r}" if len(odd) else ""
        raise InputError(
            f"column {values.name!r} has {values.dtype} values, not numbers{first}; convert them"
        )
    return values.to_numpy(np.float64)


def response_of(formula: Formula, data: pd.DataFrame) -> np.ndarray:
    """Return the left side (n,), checked to be finite."""
    return _finite(formula.response, read(formula.response), data)


def make(
    formula: Formula, data: pd.DataFrame, contrasts: Mapping[str, str] | None = None
) -> Design:
    """Code a formula's terms from the columns of `data`.

    `contrasts` maps columns to names of `contrast_codings.CODINGS`.
    """
    levels: dict[str, list[str]] = {}
    statistics: dict[str, tuple[float, float]] = {}
    polynomials: dict[str, Basis] = {}
    for name in formula.predictors:
        expression = read(name)
        if (column := _categorical_column(expression, data)) is not None:
            levels[name] = categorical(data[column]).names
            if len(levels[name]) < 2:
                raise InputError(
                    f"column {column!r} has one level, {levels[name][0]!r}: it can have no effect"
                )
        elif expression.value == "scale" and expression.kind == "call":
            values = _finite(name, expression.parts[0], data)
            statistics[name] = float(values.mean()), float(values.std(ddof=1))
            if not statistics[name][1] > 0:
                raise InputError(f"{name}: its values are all the same")
        elif expression.value == "poly" and expression.kind == "call":
            values = _finite(name, expression.parts[0], data)
            polynomials[name] = basis_of(values, int(expression.parts[1].value), name)
    codings = codings_of(contrasts or {}, levels)
    columns: dict[str, tuple[Part, ...]] = {}

    def side(terms: Iterable[str]) -> tuple[str, ...]:
        coded_columns = _coded_columns(list(terms), levels, polynomials, codings)
        columns.update(coded_columns)
        return tuple(coded_columns)

    random = []
    for term in formula.random:
        # Without correlations each term is separate, its factors coded as after `0 +`.
        parts = [term.columns] if term.correlated else [(single,) for single in term.columns]
        random += [RandomTerm(side(part), term.group) for part in parts]
    coded = replace(formula, fixed=side(formula.fixed), random=tuple(random))
    return Design(coded, columns, levels, statistics, polynomials, codings)


def codings_of(
    contrasts: Mapping[str, str], levels: Mapping[str, Sequence[str]]
) -> dict[str, Coding]:
    """Return the codings of columns with other contrasts than treatment."""
    written = {name.strip("`"): name for name in levels if read(name).kind == "name"}
    codings = {}
    for column, kind in contrasts.items():
        if column not in written:
            raise InputError(
                f"contrasts: the formula has no categorical column {nearest(column, written)}; make "
                "categories of numbers with data[column].astype('category')"
            )
        if kind not in CODINGS:
            raise InputError(f"contrasts of {column!r}: {nearest(kind, CODINGS)}")
        if kind == "treatment":
            continue
        name = written[column]
        codings[name] = CODINGS[kind](levels[name])
        if same := set(codings[name].labels) & set(levels[name]):
            raise InputError(
                f"contrasts: a column of the {kind} contrasts of {column!r} would have the name of "
                f"the level {min(same)!r}; give the levels other names"
            )
    return codings


def values_of(design: Design, data: pd.DataFrame) -> dict[str, np.ndarray]:
    """Return each column (n,) for the rows of `data`, which may be new."""
    of_part = values_of_parts(design, data)
    return {
        column: math.prod((of_part[part] for part in parts), start=np.ones(len(data)))
        for column, parts in design.columns.items()
    }


def values_of_parts(design: Design, data: pd.DataFrame) -> dict[Part, np.ndarray]:
    """Return each factor (n,) of the columns for the rows of `data`, which may be new."""
    values: dict[Part, np.ndarray] = {}
    by_name: dict[str, np.ndarray] = {}
    for name, level in dict.fromkeys(p for parts in design.columns.values() for p in parts):
        if name not in by_name:
            by_name[name] = _factor_values(name, design, data)
        of_factor = by_name[name]
        if isinstance(level, str):
            coding = design.codings[name]
            of_factor = coding.values[of_factor, coding.labels.index(level)]
        elif name in design.polynomials:
            of_factor = of_factor[:, level]
        elif level is not None:
            of_factor = of_factor == level
        values[name, level] = of_factor.astype(np.float64)
    return values


def _factor_values(name: str, design: Design, data: pd.DataFrame) -> np.ndarray:
    """Return a factor's values (n,), the codes of a categorical one, or polynomials (n, degree)."""
    expression = read(name)
    if name in design.levels:
        column = _categorical_column(expression, data) or names(expression)[0]
        return _codes(data[column], design.levels[name])
    if name in design.statistics:
        mean, sd = design.statistics[name]
        return (_finite(name, expression.parts[0], data) - mean) / sd
    if name in design.polynomials:
        return design.polynomials[name].values(_finite(name, expression.parts[0], data))
    return _finite(name, expression, data)


def groups_of(formula: Formula, data: pd.DataFrame) -> dict[str, Levels]:
    """Code the grouping variables, by name, with and without backticks."""
    groups = {}
    for name in formula.groups:
        groups[name] = groups[name.strip("`")] = categorical(data[name.strip("`")])
    return groups


def _coded_columns(
    terms: list[str],
    levels: Mapping[str, list[str]],
    polynomials: Mapping[str, Basis],
    codings: Mapping[str, Coding],
) -> dict[str, tuple[Part, ...]]:
    """Return the columns of one side of a formula in R's order, by R's name, with their factors."""
    intercept = INTERCEPT in terms
    products = [factors(term) for term in terms if term != INTERCEPT]
    full = [[not _has_margin(products[:j], p, name) for name in p] for j, p in enumerate(products)]
    if not intercept:
        # Without an intercept the first categorical factor has a column for every level.
        places = ((j, i) for j, p in enumerate(products) for i, f in enumerate(p) if f in levels)
        for j, i in list(places)[:1]:
            full[j][i] = True
    coded: dict[str, tuple[Part, ...]] = {INTERCEPT: ()} if intercept else {}
    for names_, is_full in zip(products, full, strict=True):
        choices = []
        for name, every in zip(names_, is_full, strict=True):
            of_factor = levels.get(name)
            if name in polynomials:
                degrees = range(len(polynomials[name].alpha))
                choices.append([(f"{name}{degree + 1}", (name, degree)) for degree in degrees])
            elif of_factor is None:
                choices.append([(name, (name, None))])
            elif name in codings and not every:
                choices.append([(f"{name}{c}", (name, c)) for c in codings[name].labels])
            else:
                start = 0 if every else 1
                codes = range(start, len(of_factor))
                choices.append([(f"{name}{of_factor[code]}", (name, code)) for code in codes])
        for reverse in product(*choices[::-1]):  # the first factor varies fastest
            labels, parts = zip(*reverse[::-1], strict=True)
            coded[":".join(labels)] = parts
    return coded


def _has_margin(before: list[list[str]], term: list[str], name: str) -> bool:
    """Return whether a term without one of its factors is contained in an earlier term."""
    rest = set(term) - {name}
    return not rest or any(rest <= set(other) for other in before)


def _categorical_column(expression: Expression, data: pd.DataFrame) -> str | None:
    """Return the column that an expression treats as categorical, if any."""
    if expression.kind == "call" and expression.value == "factor":
        if expression.parts[0].kind != "name":
            raise Uncovered("factor(…) of anything but a column is not read here")
        return expression.parts[0].value
    if expression.kind != "name" or is_number(data[expression.value]):
        return None
    if data[expression.value].dtype.kind in "mM":
        raise InputError(f"column {expression.value!r} has times; make numbers or levels of them")
    return expression.value


def _codes(values: pd.Series, levels: list[str]) -> np.ndarray:
    """Code new data by the levels of the fit."""
    of_data = categorical(values)
    for level in of_data.names:
        if level not in levels:
            raise InputError(
                f"column {values.name!r} has the level {nearest(level, levels)}; the fit has "
                f"{', '.join(levels)}"
            )
    return np.array([levels.index(level) for level in of_data.names], dtype=int)[of_data.codes]


def _finite(name: str, expression: Expression, data: pd.DataFrame) -> np.ndarray:
    """Evaluate an expression (n,); raise an InputError at the first row where it is not finite."""
    columns = {column: numbers(data[column]) for column in names(expression)}
    values = np.broadcast_to(evaluate(expression, columns), (len(data),)).astype(np.float64)
    odd = np.flatnonzero(~np.isfinite(values))
    if len(odd):
        raise InputError(
            f"{name} is {values[odd[0]]} in row {data.index[odd[0]]!r} ({len(odd)} such rows); "
            "leave them out or change the formula"
        )
    return values


def _level(value: object) -> str:
    """Name a level as R does."""
    if isinstance(value, bool | np.bool_):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float | np.floating):
        return f"{value:.15g}"
    return str(value)


SLIGHT = 1e-6
"""Coefficient of a direction, and its gain per row, below which it is treated as 0."""


def empty_cells(design: Design, data: pd.DataFrame) -> list[str]:
    """Describe interactions of categorical fixed effects that have cells without rows."""
    products = {
        tuple(dict.fromkeys(name for name, _ in parts if name in design.levels)): None
        for parts in (design.columns[column] for column in design.formula.fixed)
    }
    notes = []
    for term in products:
        if len(term) < 2:
            continue
        levels = [design.levels[name] for name in term]
        shape = tuple(map(len, levels))
        codes = [categorical(data[names(read(name))[0]]).codes for name in term]
        counts = np.bincount(np.ravel_multi_index(codes, shape), minlength=math.prod(shape))
        empty = np.flatnonzero(counts == 0)
        if len(empty):
            first = np.unravel_index(empty[0], shape)
            named = ", ".join(f"{n} {of[c]}" for n, of, c in zip(term, levels, first, strict=True))
            notes.append(
                f"{len(empty)} of {len(counts)} cells of {':'.join(term)} are empty, the first "
                f"{named}: not all of their effects can be estimated"
            )
    return notes


def separation(X: np.ndarray, columns: list[str], event: np.ndarray) -> str:
    """Describe fixed effects that predict events without error, whose estimates are not finite.

    Events are separated if a combination of the columns is nonnegative where an event happens and
    nonpositive elsewhere, but not 0 in all rows. A linear program finds it (Konis 2007).

    Parameters
    ----------
    X
        Columns (n, p).
    columns
        Names of the columns.
    event
        Whether the event happens (n,).

    Returns
    -------
    str
        A note; empty without separation.
    """
    scaled = X / np.maximum(np.abs(X).max(0), 1e-300)
    signed = np.where(event, 1.0, -1.0)[:, None] * scaled
    program = linprog(-signed.sum(0), A_ub=-signed, b_ub=np.zeros(len(X)), bounds=(-1, 1))
    if program.status != 0 or -program.fun <= SLIGHT * len(X):
        return ""
    beta = np.where(np.abs(program.x) > SLIGHT, program.x, 0.0)
    named = [name for name, value in zip(columns, beta, strict=True) if value]
    # Of centred columns the intercept makes those that are not.
    named = [name for name in named if name != INTERCEPT] or named
    rows = int((np.abs(scaled @ beta) > SLIGHT).sum())
    return (
        f"separation: {', '.join(named)} predict{'s' if len(named) == 1 else ''} the event without "
        f"error in {rows:,} of {len(X):,} rows, so the estimates are not finite; take fewer levels or a prior"
    )


def monomials_of(design: Design) -> dict[str, Monomial]:
    """Return each column's leaves with their powers."""
    monomials = {}
    for column, parts in design.columns.items():
        powers: Counter[Part] = Counter()
        for name, level in parts:
            if _is_expression(design, name, level):
                for leaf, power in _powers(read(name)).items():
                    powers[leaf, None] += power
            else:
                powers[name, level] += 1
        monomials[column] = tuple(sorted(powers.items(), key=repr))
    return monomials


def expressions_of(design: Design) -> set[Part]:
    """Return the numeric leaves, which may be centred."""
    return {
        (leaf, None)
        for parts in design.columns.values()
        for name, level in parts
        if _is_expression(design, name, level)
        for leaf in _powers(read(name))
    }


def leaf_values(design: Design, data: pd.DataFrame) -> dict[Part, np.ndarray]:
    """Return the values (n,) of all leaves for the rows of `data`, which may be new."""
    values = values_of_parts(design, data)  # raises for values that are not finite
    for leaf in expressions_of(design) - set(values):
        expression = read(leaf[0])
        columns = {name: data[name].to_numpy(np.float64) for name in names(expression)}
        values[leaf] = np.asarray(evaluate(expression, columns), dtype=np.float64)
    return values


def _is_expression(design: Design, name: str, level: int | str | None) -> bool:
    return level is None and name not in design.statistics


def _powers(expression: Expression) -> Counter[str]:
    """Return the powers of leaves whose product an expression is; itself if it is no product."""
    whole = Counter({written(expression): 1})
    if expression.kind == "parenthesis" or (expression.kind, expression.value) == ("call", "I"):
        return _powers(expression.parts[0])
    if expression.kind != "operation" or len(expression.parts) != 2:
        return whole
    left, right = expression.parts
    if expression.value == "*" and "number" not in (left.kind, right.kind):
        return _powers(left) + _powers(right)
    if expression.value == "^" and right.kind == "number" and right.value in "123456789":
        return Counter({leaf: power * int(right.value) for leaf, power in _powers(left).items()})
    return whole
