"""Tests of a fit's fixed effects with denominator degrees of freedom: single effects and terms."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy.special import fdtrc, stdtr

from crosslmm import design as designs
from crosslmm.degrees_of_freedom import METHODS, Inference, infer
from crosslmm.errors import InputError, nearest
from crosslmm.expressions import variables
from crosslmm.factors import NotSearchable
from crosslmm.families import LINEAR
from crosslmm.fit_formula import linear_model
from crosslmm.formula import INTERCEPT, factors

if TYPE_CHECKING:
    from crosslmm.model import MixedModel

TYPES = {2: 2, 3: 3, "2": 2, "3": 3, "II": 2, "III": 3}


def check_ddf(ddf: str, family: str, reml: bool) -> None:
    """Raise an InputError if a method has no degrees of freedom for such a fit."""
    if ddf not in METHODS:
        raise InputError(f"ddf is {nearest(ddf, METHODS)}")
    if family not in LINEAR:
        raise InputError(f"ddf={ddf!r} is for linear models, not family {family!r}; leave ddf out")
    if ddf == "Kenward-Roger" and not reml:
        raise InputError('ddf="Kenward-Roger" needs a fit by REML: lmer(..., reml=True)')


def inference_of(fit: MixedModel, ddf: str) -> Inference:
    """Return the tests of a fit on the internal scale; raise an InputError if there are none."""
    check_ddf(ddf, fit.family, fit.reml)
    source = fit._source
    prepared, figures = source.prepared, source.result.figures
    if prepared is None or figures is None:
        raise InputError(f"ddf={ddf!r} needs a formula that is read here, not by R alone")
    model = linear_model(prepared, prepared.working(source.shift), fit.reml)
    try:
        return infer(model, figures.Ls, figures.sigma, ddf)
    except NotSearchable as reason:
        raise InputError(f"ddf={ddf!r}: {reason}; leave ddf out") from None


def with_ddf(fit: MixedModel, ddf: str) -> MixedModel:
    """Return a fit whose fixed effects have degrees of freedom and p values."""
    inference, terms = inference_of(fit, ddf), list(fit.fixed.index)
    scale, kept = fit._source.internal, list(fit._source.result.figures.kept)
    B = scale.factor * scale.fixed.B[np.ix_(kept, kept)]
    covariance = B @ inference.covariance @ B.T
    se, estimates = np.sqrt(np.diagonal(covariance)), fit.fixed["estimate"].to_numpy()
    df, t = np.array([inference.df(row) for row in B]), estimates / se
    columns = {"estimate": estimates, "se": se, "df": df, "t": t, "p": 2 * stdtr(df, -np.abs(t))}
    fixed, of_estimates = pd.DataFrame(columns, terms), pd.DataFrame(covariance, terms, terms)
    return replace(fit, fixed=fixed, covariance=of_estimates, ddf=ddf)


def tests_of_terms(fit: MixedModel, kind: int | str, ddf: str) -> pd.DataFrame:
    """Return F tests of the terms; see crosslmm.model.MixedModel.anova."""
    if kind not in TYPES:
        raise InputError(f"type is {kind!r} and must be 2 or 3")
    inference = inference_of(fit, ddf)
    beta, rows = fit._source.result.figures.beta, {}
    scale = fit._source.internal
    for term, weights, X in _hypotheses(fit, TYPES[kind]):
        mean = scale.mean / scale.factor * weights.sum(1)  # of the response, if X expresses it
        combinations = weights @ X
        F, df, q = inference.joint(combinations, combinations @ beta + mean)
        rows[term] = {"NumDF": q, "DenDF": df, "F": F, "p": float(fdtrc(q, df, F))}
    return pd.DataFrame.from_dict(rows, orient="index", columns=["NumDF", "DenDF", "F", "p"])


def _hypotheses(fit: MixedModel, kind: int) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield each term, weights (q, n) of the means that are 0 without it, and X (n, p) inside.

    Satterthwaite's degrees of freedom depend on the rows: they are lmerTest's.
    """
    source, prepared = fit._source, fit._source.prepared
    kept, n = list(source.result.figures.kept), fit.nobs
    if len(kept) < len(prepared.design.formula.fixed):
        raise InputError(
            "anova() of terms needs every fixed effect, and some were dropped since they depend on "
            "others; leave out their terms"
        )
    internal = np.column_stack(source.internal.fixed.values(prepared.leaves, n))
    rows, design = source.request.rows, prepared.design
    names = {name for term in prepared.formula.fixed for name in variables(term)}
    categorical = [name for name in rows if name in names and not designs.is_number(rows[name])]
    terms = [term for term in prepared.formula.fixed if term != INTERCEPT]
    kind = kind if len(terms) > 1 else 2
    if kind == 3:
        # Levels are weighted equally, whatever the fit's contrasts; new names differ from labels.
        coded = {name: designs.categorical(rows[name]) for name in categorical}
        rows = rows.assign(
            **{
                name: pd.Categorical.from_codes(of.codes, [f"level {level}" for level in of.names])
                for name, of in coded.items()
            }
        )
        plain = [name for name in categorical if name in map(_bare, prepared.formula.predictors)]
        design = designs.make(prepared.formula, rows, dict.fromkeys(plain, "sum"))
    values = designs.values_of(design, rows)
    columns = list(design.formula.fixed)
    of_column = [frozenset(part for part, _ in design.columns[column]) for column in columns]
    X = np.column_stack([values[column] for column in columns])
    size = np.linalg.norm(X, axis=0)
    X = X / size
    inside = {term: frozenset(factors(term)) for term in terms}
    marginal = np.linalg.pinv(X) / size[:, None]
    for term in terms:
        own = [c for c, parts in enumerate(of_column) if parts == inside[term]]
        above = {other for other in inside.values() if _contains(other, inside[term], categorical)}
        if kind == 3:
            yield term, _differences(design, [columns[c] for c in own]) @ marginal[own], internal
            continue
        if not above and len(terms) > 1:
            yield term, marginal[own], internal
            continue
        before = [c for c, parts in enumerate(of_column) if parts not in above and c not in own]
        Q, R = np.linalg.qr(X[:, [*before, *own]])
        lengths = np.diagonal(R)[len(before) :] * size[own]
        yield term, (Q[:, len(before) :] / lengths).T, internal


def _differences(design: designs.Design, columns: list[str]) -> np.ndarray:
    """Return the matrix (q, q) from sum contrasts to differences from each factor's first level."""
    result = np.ones((len(columns),) * 2)
    for names in zip(*(design.columns[column] for column in columns), strict=True):
        name = names[0][0]
        if name in design.codings and names[0][1] in design.codings[name].labels:
            coding = design.codings[name]
            index = [coding.labels.index(label) for _, label in names]
            values = coding.values[1:] - coding.values[0]
            result *= values[np.ix_(index, index)]
        else:
            result *= np.array([[one == other for _, other in names] for _, one in names])
    return result


def _bare(name: str) -> str:
    return name.strip("`")


def _contains(other: frozenset[str], term: frozenset[str], categorical: list[str]) -> bool:
    """Return whether a term contains another with the same numeric factors, as in SAS."""
    return term < other and all(_bare(name) in categorical for name in other - term)
