"""Summary of a searched model from its cross-products, in the form that lme4 reports."""

import math
from dataclasses import replace

import numpy as np

from recency.mixed.expressions import split_product
from recency.mixed.factors import Factor
from recency.mixed.formula import INTERCEPT, factors
from recency.mixed.levels import joined
from recency.mixed.scaled_search import ScaledSearch
from recency.mixed.summary import FitSummary


def summary_of(searched: ScaledSearch) -> tuple[FitSummary, list[str]]:
    """Return the summary that lme4 would report, and the columns of X that were dropped."""
    scaled, given = searched.result, searched.in_original_units()
    at = scaled.solution
    names, kept = searched.formula.fixed, list(scaled.products.kept)
    B = searched.B[np.ix_(kept, kept)]
    estimates = B @ at.beta
    if INTERCEPT in names:
        estimates[0] += searched.mean
    half = np.linalg.solve(at.root, B.T)
    covariance = at.sigma**2 * half.T @ half
    modes = {}
    for factor, A, of_factor in zip(given.factors, searched.A, at.modes, strict=False):
        if factor.columns:
            group = searched.groups.get(factor.group) or searched.groups.get(f"`{factor.group}`")
            group = group or joined(factor.group, searched.groups)
            values = (of_factor @ A.T).tolist()
            modes[factor.group] = dict(zip(group.names, values, strict=True))
    if scaled.nested:
        modes[scaled.nested] = _nested(searched)
    blocks = given.blocks()
    # lme4's order: the group with most levels first.
    terms = [
        term if term.group == scaled.nested else replace(term, group=term.group.strip("`"))
        for term in searched.formula.random
    ]
    terms.sort(key=lambda term: -len(modes[term.group]))
    theta, random = [], {}
    for term in terms:
        factor, L = blocks[term.group]
        places = [factor.columns.index(column) for column in term.columns]
        theta += L[np.ix_(places, places)].T[np.triu_indices(len(places))].tolist()
        random[term.group] = _spread(factor, L, at.sigma)
    summary = FitSummary(
        fixed={names[c]: float(value) for c, value in zip(kept, estimates, strict=True)},
        se=np.sqrt(np.diagonal(covariance)).tolist(),
        theta=theta,
        sigma=at.sigma,
        loglik=-searched.deviance / 2,
        singular=given.optimum.singular,
        random=random,
        modes={group: modes[group] for group in random},
        messages=[],
        converged=scaled.optimum.converged,
        covariance=covariance,
    )
    return summary, [name for c, name in enumerate(names) if c not in kept]


def distance(ours: FitSummary, theirs: FitSummary) -> float | None:
    """Return the largest standardised difference between two summaries at one theta.

    Fixed effects are compared in standard errors, standard errors and the random effects' sds as
    ratios, conditional modes in sds of their column, log-likelihoods in nats. Infinite if the
    levels differ. None if effects or groups have different names, so that no comparison is
    possible.
    """
    if set(ours.fixed) != set(theirs.fixed) or set(ours.random) != set(theirs.random):
        return None
    se = dict(zip(theirs.fixed, theirs.se, strict=True))
    differences = [ours.loglik - theirs.loglik, ours.sigma / theirs.sigma - 1]
    for name, own_se in zip(ours.fixed, ours.se, strict=True):
        differences += [(ours.fixed[name] - theirs.fixed[name]) / se[name], own_se / se[name] - 1]
    for group, spread in theirs.random.items():
        if set(ours.modes[group]) != set(theirs.modes[group]):
            return math.inf
        index = {frozenset(factors(c)): i for i, c in enumerate(ours.random[group]["columns"])}
        order = [index.get(frozenset(factors(c)), -1) for c in spread["columns"]]
        if -1 in order:
            return None
        sd = np.array(spread["sd"])
        scale = np.maximum(sd, 1e-3 * theirs.sigma)
        differences += list((np.array(ours.random[group]["sd"])[order] - sd) / scale)
        modes = np.array([ours.modes[group][level] for level in theirs.modes[group]])[:, order]
        differences += list(
            np.abs((modes - np.array(list(theirs.modes[group].values()))) / scale).max(0)
        )
    return float(np.abs(differences).max())


def _spread(factor: Factor, L: np.ndarray, sigma: float) -> dict:
    """Return columns, sd and correlation of a factor, in the form of recency.mixed.summary."""
    covariance = sigma**2 * L @ L.T
    sd = np.sqrt(np.diagonal(covariance))
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = covariance / np.outer(sd, sd)
    together = factor.free | factor.free.T
    correlation = np.where(together, correlation, 0.0)
    np.fill_diagonal(correlation, 1.0)
    return {"columns": list(factor.columns), "sd": sd.tolist(), "correlation": correlation}


def _nested(searched: ScaledSearch) -> dict[str, list[float]]:
    """Return the conditional modes of the nested intercept for the pairs that occur."""
    result = searched.result
    values = result.of_pairs
    a, b = (searched.groups[factor.group].names for factor in result.factors)
    swapped = split_product(result.nested)[0] != result.factors[0].group
    modes = {}
    for g, h in np.argwhere(result.products.cells[:, :, 0] > 0):
        pair = (b[h], a[g]) if swapped else (a[g], b[h])
        modes[":".join(pair)] = [float(values[g, h])]
    return modes
