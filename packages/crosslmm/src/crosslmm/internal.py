"""A mixed model on the internal scale, on which every engine fits it, and the way back.

On the internal scale the columns, the response and the weights are standardised; a model that a
design has scaled already has an internal scale equal to the given one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from crosslmm.factors import Levels, joined
from crosslmm.formula import Formula, RandomTerm, column
from crosslmm.standardised import Basis, identity
from crosslmm.summary import FitSummary
from crosslmm.theta_search import triangle

PARALLEL = 1 - 1e-10
"""Cosine of two effects' rows above which they are parallel to all their digits."""


@dataclass(frozen=True)
class Scale:
    """The transformation from the internal scale to the given one.

    A linear predictor is `factor` times the internal one, plus `mean`, which the fixed columns can
    express.
    """

    formula: Formula
    """with the given columns; uncorrelated effects are terms of their own"""
    fixed: Basis
    random: tuple[Basis, ...]
    """of each random term"""
    mean: float = 0.0
    factor: float = 1.0
    log_unit: float = 0.0
    """logarithm of the internal unit of the response, in given units"""
    root: float = 1.0
    """root of the mean weight, by which weights are divided"""

    @property
    def groups(self) -> list[str]:
        """The group of each random term."""
        return [term.group for term in self.formula.random]

    def log_jacobian(self, n: int, reml: bool = False) -> float:
        """Return what the given log-likelihood of n rows exceeds the internal one by."""
        if not reml:
            return -n * self.log_unit
        kept = list(self.fixed.kept)
        _, log_determinant = np.linalg.slogdet(self.fixed.B[np.ix_(kept, kept)])
        return float(log_determinant) - (n - len(kept)) * self.log_unit


@dataclass
class Internal:
    """The data of a model on the internal scale; `formula` has the labels of its columns."""

    scale: Scale
    formula: Formula
    predictors: Mapping[str, np.ndarray]
    """columns (n,), or factors of columns, by label"""
    y: np.ndarray
    groups: dict[str, Levels]
    weights: np.ndarray | None = None
    offset: np.ndarray | None = None
    """(n,), for a generalised model"""
    nested_as_factors: bool = True
    """whether a group a:b is always treated as a grouping factor of its own"""
    reml: bool = False
    """whether the restricted likelihood is maximised"""

    def X(self) -> list[np.ndarray]:
        """Return the fixed columns (n,)."""
        return [column(c, self.predictors, len(self.y)) for c in self.formula.fixed]

    def Z(self) -> list[list[np.ndarray]]:
        """Return the columns (n,) of each random term."""
        n = len(self.y)
        return [[column(c, self.predictors, n) for c in t.columns] for t in self.formula.random]


@dataclass
class Figures:
    """The figures of a fit on the internal scale, whichever engine computed them."""

    beta: np.ndarray
    """fixed effects (p,) of the columns that are kept"""
    covariance: np.ndarray
    """(p, p)"""
    sigma: float
    loglik: float
    Ls: list[np.ndarray]
    """lower triangular (k, k) for each random term, a root of the covariance of its effects"""
    modes: list[np.ndarray]
    """conditional modes (levels, k) for each random term"""
    singular: bool
    converged: bool
    kept: tuple[int, ...]
    """the given fixed columns that are kept"""
    is_relative: bool = True
    """whether L is relative to sigma, as in linear models"""
    messages: list[str] = field(default_factory=list)


def as_given(
    formula: Formula,
    predictors: Mapping[str, np.ndarray],
    y: np.ndarray,
    groups: Mapping[str, Levels],
) -> Internal:
    """Return a model of columns that are scaled already: the internal scale is the given one."""
    random = []
    for term in formula.random:  # uncorrelated columns become terms of their own, as in a design
        parts = [term.columns] if term.correlated else [(single,) for single in term.columns]
        random += [RandomTerm(part, term.group) for part in parts]
    bases = tuple(identity(term.columns) for term in random)
    scale = Scale(replace(formula, random=tuple(random)), identity(formula.fixed), bases)
    return Internal(scale, formula, predictors, y, dict(groups), nested_as_factors=False)


def in_given_units(
    scale: Scale, figures: Figures, groups: Mapping[str, Levels], reml: bool = False, rows: int = 0
) -> FitSummary:
    """Return the summary of a fit in the given units, in lme4's order.

    `groups` are the grouping variables of the data, `rows` their number of rows.
    """
    kept, unit, sigma = list(figures.kept), scale.factor, figures.sigma
    root = scale.root if figures.is_relative else 1 / scale.factor
    if figures.is_relative:
        unit, sigma = scale.factor * sigma, scale.factor * scale.root * sigma
    B = scale.fixed.B[np.ix_(kept, kept)]
    beta = scale.factor * (B @ figures.beta)
    if scale.mean:
        beta = beta + scale.mean * scale.fixed.constant[kept]
    covariance = scale.factor**2 * B @ figures.covariance @ B.T
    names = {group: joined(group, groups).names for group in scale.groups}
    order = sorted(range(len(scale.random)), key=lambda t: -len(names[scale.groups[t]]))
    theta: list[float] = []
    random: dict[str, dict[str, Any]] = {}
    modes: dict[str, Any] = {}
    spreads: dict[str, list[np.ndarray]] = {}
    for t in order:
        group, A, L = scale.groups[t].replace("`", ""), scale.random[t].B, figures.Ls[t]
        given = triangle(A @ L)
        theta += (given.T[np.triu_indices(len(given))] / root).tolist()
        spreads.setdefault(group, []).append(unit * (A @ L))
        random.setdefault(group, {"columns": []})["columns"] += list(scale.random[t].columns)
        values = scale.factor * figures.modes[t] @ A.T
        before = modes.get(group)
        modes[group] = values if before is None else np.hstack([before, values])
    for group, of_group in random.items():
        of_group["sd"], of_group["correlation"] = _spread(spreads[group])
    levels = {group.replace("`", ""): of_group for group, of_group in names.items()}
    return FitSummary(
        fixed=dict(zip((scale.fixed.columns[c] for c in kept), beta.tolist(), strict=True)),
        se=np.sqrt(np.diagonal(covariance)).tolist(),
        theta=theta,
        sigma=sigma,
        loglik=figures.loglik + scale.log_jacobian(rows, reml),
        singular=figures.singular,
        random=random,
        modes={g: dict(zip(levels[g], modes[g].tolist(), strict=True)) for g in random},
        messages=figures.messages,
        converged=figures.converged,
        covariance=covariance,
    )


def _spread(roots: list[np.ndarray]) -> tuple[list[float], np.ndarray]:
    """Return sd (k,) and correlation (k, k) of effects with square roots of covariances by term."""
    sd = np.concatenate([np.sqrt((root**2).sum(1)) for root in roots])
    correlation, start = np.eye(len(sd)), 0
    for root in roots:
        with np.errstate(invalid="ignore", divide="ignore"):
            unit = root / np.sqrt((root**2).sum(1))[:, None]
        of_term = np.clip(unit @ unit.T, -1.0, 1.0)
        np.fill_diagonal(of_term, 1.0)
        part = slice(start, start + len(root))
        correlation[part, part], start = of_term, part.stop
    return sd.tolist(), correlation


def relative_root(covariance: np.ndarray) -> np.ndarray:
    """Return a lower triangular L (k, k) with L L' = covariance, which may be singular."""
    values, vectors = np.linalg.eigh(covariance)
    return triangle(vectors * np.sqrt(np.maximum(values, 0.0)))


def correlation_at_limit(rows: np.ndarray) -> float | None:
    """Return the correlation of two effects whose `rows` (2, k) are parallel to all their digits.

    Columns far from zero make it 1 or -1, whatever the internal covariance.
    """
    one, other = rows
    cosine = float(one @ other / np.sqrt(one @ one * (other @ other)))
    return float(np.sign(cosine)) if abs(cosine) > PARALLEL else None
