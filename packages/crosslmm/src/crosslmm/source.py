"""Predictions of a fitted model for a data frame, computed here or by R."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit

from crosslmm import design as designs
from crosslmm import families, lme4
from crosslmm.contrast_codings import CODINGS, Coding
from crosslmm.errors import InputError
from crosslmm.expressions import variables
from crosslmm.fitting import Result
from crosslmm.internal import Scale
from crosslmm.leaves import leaf_values
from crosslmm.levels import Levels, joined
from crosslmm.model_request import ModelRequest, Prepared


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
        generalised = self.request.family in families.GENERALISED
        kept = self.result.model if self.prepared is None or generalised else None
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
    """Convert data to a data frame."""
    if isinstance(data, pd.DataFrame):
        return data
    try:
        return pd.DataFrame(data)
    except (TypeError, ValueError) as error:
        raise InputError(f"data are no data frame, and none can be made of them: {error}") from None


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
        needed = [name for name in rows.columns if _needed(source, name, random)]
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


def _needed(source: Source, name: str, random: bool) -> bool:
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
