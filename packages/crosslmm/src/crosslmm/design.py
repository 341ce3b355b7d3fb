"""The columns of a model from a data frame: values of terms, categorical columns by R's rules.

Categorical columns (text, categories, booleans) have treatment contrasts by default: a 0/1 column
for each level but the first, in alphabetical order or that of the categories. As in R, a factor has
a column for every level if the model lacks the term without it.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pandas as pd

from crosslmm.contrast_codings import CODINGS, Coding
from crosslmm.errors import InputError, nearest
from crosslmm.expressions import Expression, Uncovered, evaluate, names, read
from crosslmm.formula import INTERCEPT, Formula, RandomTerm, factors
from crosslmm.levels import Levels
from crosslmm.polynomials import Basis, basis_of

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
    return frame.assign(**{name: _typed(frame[name]) for name in objects}), dropped


def _typed(values: pd.Series) -> pd.Series:
    """Return a column of objects with the common type of its values, such as numbers."""
    kind = pd.api.types.infer_dtype(values)
    return values.astype(np.float64) if kind == "decimal" else values.infer_objects()


def levels_notes(formula: Formula, data: pd.DataFrame) -> list[str]:
    """Name predictors that are treated as categorical although they hold numbers or numeric text."""
    notes = []
    for name in dict.fromkeys(name for term in formula.predictors for name in names(read(term))):
        values = data[name]
        if values.dtype != object and not pd.api.types.is_string_dtype(values):
            continue
        numeric = pd.to_numeric(values, errors="coerce").notna()
        if numeric.all():
            notes.append(f"column {name!r} holds text that reads as numbers: treated as levels")
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
        raise InputError(f"column {values.name!r} has {values.dtype} values, not numbers")
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
