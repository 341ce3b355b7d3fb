"""A mixed model as the user specifies it: formula, rows and options, checked before fitting.

Predictions of a fitted model for a data frame, computed here or by R.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit

from crosslmm import design as designs
from crosslmm import families, lme4
from crosslmm.design import CODINGS, Coding, Design, expressions_of, leaf_values, monomials_of
from crosslmm.errors import InputError, nearest
from crosslmm.expressions import variables
from crosslmm.factors import Levels, joined
from crosslmm.fitting import Result
from crosslmm.formula import INTERCEPT, Formula, parse
from crosslmm.internal import Internal, Scale
from crosslmm.standardised import Basis, Leaf, basis_of

ENGINES = ("auto", "lme4", "search")
MOST_POINTS = 101
"""Largest number of quadrature points."""


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
    frames: str = "pandas"
    """the package of the data, whose frames methods return: pandas, polars or pyarrow"""
    quadrature: int = 1
    """number of quadrature points for each level, of binomial and Poisson models"""

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
    points = model.quadrature
    if not isinstance(points, int) or isinstance(points, bool) or not 1 <= points <= MOST_POINTS:
        raise InputError(f"quadrature is {points!r} and must be a whole number, 1 to {MOST_POINTS}")
    if points > 1 and (family not in families.GENERALISED or model.engine == "lme4"):
        raise InputError(
            f"quadrature={points} needs family 'binomial' or 'poisson', and engine 'auto' or 'search'"
        )
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
    by = "is fitted by Laplace's approximation"
    wrong = [
        ("reml=True", model.reml),
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
    y = _response(model, formula) if with_response else np.zeros(len(rows))
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


def _response(model: ModelRequest, formula: Formula) -> np.ndarray:
    """Return the response (n,); events are 1, and a categorical response's first level is 0."""
    rows, name = model.rows, formula.response.strip("`")
    if model.family not in families.GENERALISED:
        return designs.response_of(formula, rows)
    if model.family == families.BINOMIAL and name in rows and not designs.is_number(rows[name]):
        return (designs.categorical(rows[name]).codes > 0) * 1.0
    y = designs.response_of(formula, rows)
    if model.family == families.BINOMIAL:
        trials = rows[model.weights].to_numpy(np.float64) if model.weights else np.ones(len(y))
        wrong = (y < 0) | (y > 1) | (np.abs(trials * y - np.round(trials * y)) > 1e-6)
        needed = "0 or 1, or with weights=, the numbers of trials, shares of them"
    else:
        wrong, needed = (y < 0) | (y != np.round(y)), "counts 0, 1, 2, …"
    if wrong.any():
        at = wrong.argmax()
        raise InputError(
            f"family {model.family} needs responses that are {needed}, and {formula.response} is "
            f"{y[at]:g} in row {rows.index[at]!r} ({wrong.sum():,} such rows)"
        )
    return y


def _check_positive(name: str, y: np.ndarray, rows: pd.DataFrame, family: str) -> None:
    wrong = np.flatnonzero(y <= 0)
    if len(wrong):
        listed = ", ".join(f"{y[i]:g} in row {rows.index[i]!r}" for i in wrong[:3])
        raise InputError(
            f"family {family} needs responses above 0, and {len(wrong):,} of {len(y):,} of {name} are "
            f"not: {listed}{' …' if len(wrong) > 3 else ''}; leave such rows out"
        )


@dataclass
class Source:
    """The basis of predictions; R computes them if `prepared` is None."""

    request: ModelRequest
    prepared: Prepared | None
    result: Result
    shift: float = 0.0
    """for a shifted lognormal model"""
    scale: tuple[float, ...] = ()
    """for Laplace's approximation, the log of sigma and further scale parameters"""
    internal: Scale | None = None
    """the internal scale of `result.figures`"""

    def __getstate__(self) -> dict[str, Any]:
        """Return the pickled state; R's object is serialised only if predictions need it."""
        kept = self.result.model if self.prepared is None else None
        if kept is not None and not isinstance(kept, bytes):
            kept = lme4.packed(kept)
        return vars(self) | {"result": replace(self.result, model=kept)}

    @property
    def in_r(self) -> Any:
        """R's merMod object, for a model whose formula R read."""
        if isinstance(self.result.model, bytes):
            self.result = replace(self.result, model=lme4.unpacked(self.result.model))
        return self.result.model

    def mean(self, eta: np.ndarray) -> np.ndarray:
        """Return the mean (n,) of the response at linear predictors (n,)."""
        family = self.request.family
        if family in (families.LOGNORMAL, families.SHIFTED):
            return self.shift + np.exp(eta + self.result.summary.sigma**2 / 2)
        if family == families.BINOMIAL:
            return expit(eta)
        if family in families.GENERALISED:
            return np.exp(eta)
        if self.scale:
            return _mean_of_density(self.request, eta, self.scale)
        return eta


def frame_of(data: Any) -> pd.DataFrame:
    """Convert data, such as a data frame of Polars, an Arrow table or a mapping, to a data frame of pandas."""
    if isinstance(data, pd.DataFrame):
        return data
    if hasattr(data, "__arrow_c_stream__"):
        try:
            import pyarrow
        except ImportError:
            raise InputError(
                f"data of {type(data).__module__.partition('.')[0]} need pyarrow: pip install pyarrow"
            ) from None
        return pyarrow.table(data).to_pandas()
    try:
        return pd.DataFrame(data)
    except (TypeError, ValueError) as error:
        raise InputError(f"data are no data frame, and none can be made of them: {error}") from None


def package_of(data: Any) -> str:
    """Return the package of a data frame, "pandas" for another than Polars' or Arrow's."""
    package = type(data).__module__.partition(".")[0]
    return package if package in ("polars", "pyarrow") else "pandas"


def as_frame_of(package: str, table: pd.DataFrame | pd.Series, index: str = "") -> Any:
    """Return a table as a frame of `package`; its index becomes the first column, named `index`."""
    if package == "pandas":
        return table
    import pyarrow

    if index:
        names = [name or index for name in table.index.names]
        table = table.rename_axis(names).reset_index()
    arrow = pyarrow.Table.from_pandas(pd.DataFrame(table), preserve_index=False)
    if package == "pyarrow":
        return arrow[arrow.column_names[0]] if isinstance(table, pd.Series) else arrow
    import polars

    frame = polars.from_arrow(arrow)
    return frame.to_series() if isinstance(table, pd.Series) else frame


def _mean_of_density(
    request: ModelRequest, eta: np.ndarray, scale: tuple[float, ...]
) -> np.ndarray:
    from crosslmm.laplace import apply_inverse_link

    link = request.link or families.links(request.family)[0]
    every = np.column_stack([eta, *(np.full(len(eta), value) for value in scale)])
    return families.density(request.family).expectation(apply_inverse_link(link, every))


def frame_in_r(rows: pd.DataFrame, contrasts: Mapping[str, str] | None = None) -> Any:
    """Build R's data frame: numbers, booleans, and factors with their contrasts."""
    return lme4.data_frame(*columns_in_r(rows, contrasts))


def columns_in_r(
    rows: pd.DataFrame, contrasts: Mapping[str, str] | None = None
) -> tuple[dict[str, np.ndarray | Levels], dict[str, Coding]]:
    """Return R's columns: numbers, booleans, and factors, with their contrasts."""
    codings = {}
    columns: dict[str, np.ndarray | Levels] = {}
    for name in rows.columns:
        values = rows[name]
        if designs.is_number(values):
            columns[name] = designs.numbers(values)
        elif values.dtype == bool and name not in (contrasts or {}):
            columns[name] = values.to_numpy()
        else:
            columns[name] = designs.categorical(values)
            if (kind := (contrasts or {}).get(name)) is not None:
                codings[name] = CODINGS[kind](columns[name].names)
    return columns, codings


def predict(source: Source, data: pd.DataFrame | None, random: bool, new_levels: str) -> pd.Series:
    """Predict the response; see crosslmm.model.MixedModel.predict."""
    request, prepared = source.request, source.prepared
    rows = request.rows
    if data is not None:
        data = frame_of(data)
        needed = [name for name in rows.columns if _needs_column(source, name, random)]
        rows, lacking = designs.rows_of(data, needed, request.text)
        if lacking:
            where = data[needed].isna().any(axis=1).to_numpy().argmax()
            raise InputError(
                f"{lacking} of {len(data)} rows lack a value, the first at {data.index[where]!r}; "
                "leave them out"
            )
    if random and new_levels == "error":
        _check_levels(source, rows)
    if prepared is None:
        try:
            frame = frame_in_r(rows, request.contrasts)
            values = lme4.predict(source.in_r, frame, random)
        except lme4.Refused as reason:
            raise InputError(f"formula {request.text!r}: lme4: {reason}") from None
        if request.family not in families.GENERALISED:  # of which R returns the mean
            values = source.mean(values)
        return pd.Series(values, rows.index, name="predicted")
    values = source.mean(linear_predictor(source, rows, data is not None, random))
    return pd.Series(values, rows.index, name="predicted")


def linear_predictor(source: Source, rows: pd.DataFrame, new: bool, random: bool) -> np.ndarray:
    """Return X b, plus the offset and optionally random effects, for the fitted or for new rows."""
    prepared, scale, figures = source.prepared, source.internal, source.result.figures
    leaves, groups, offset = prepared.leaves, prepared.groups, prepared.offset
    if new:
        leaves = leaf_values(prepared.design, rows)
        offset = designs.numbers(rows[source.request.offset]) if source.request.offset else None
        groups = designs.groups_of(prepared.formula, rows) if random else {}
    n = len(rows)
    values = np.zeros(n)
    fixed = dict(zip(scale.fixed.kept, scale.fixed.values(leaves, n), strict=True))
    for c, beta in zip(figures.kept, figures.beta, strict=True):
        values += beta * fixed[c]
    for name, basis, modes in zip(scale.groups, scale.random, figures.modes, strict=True):
        if random:
            group = joined(name, groups)
            known = {level: row for row, level in enumerate(joined(name, prepared.groups).names)}
            table = np.vstack([modes, np.zeros(modes.shape[1])])
            places = np.array([known.get(level, -1) for level in group.names], dtype=int)
            effects = table[places][group.codes]
            for c, column in enumerate(basis.values(leaves, n)):
                values += effects[:, c] * column
    values = scale.factor * values + scale.mean
    return values if offset is None else values + offset


def _needs_column(source: Source, name: str, random: bool) -> bool:
    """Return whether predictions need a column: any but the response's, groups if `random`."""
    if name == source.request.offset:
        return True
    if source.prepared is None:
        response = variables(source.request.response)
        return name not in response and name in variables(source.request.text)
    formula = source.prepared.formula
    predictors = {variable for term in formula.predictors for variable in variables(term)}
    groups = {group.strip("`") for group in formula.groups} if random else set()
    return name in predictors | groups


def _check_levels(source: Source, rows: pd.DataFrame) -> None:
    """Raise an InputError at the first level of a group that the fit has not seen."""
    for group, modes in source.result.summary.modes.items():
        names = [name.strip("`") for name in group.split(":")]
        if not set(names) <= set(rows.columns):
            continue
        of_data = joined(group, {name: designs.categorical(rows[name]) for name in names})
        for level in of_data.names:
            if level not in modes:
                raise InputError(
                    f"{group} has the level {level!r}, which the fit has not seen; "
                    'new_levels="zero" predicts it without its random effects'
                )
