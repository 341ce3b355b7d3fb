"""Predictors and log-likelihoods of rows from the record of a model fitted by Laplace's method.

Such a record has `density` with its `name` (a module of `crosslmm.densities`), `link`, `scale`
(`fixed`, `random` and `ranef` of log sigma, in the form of those of the location), and `others`,
further scale parameters, as logarithms.
"""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from crosslmm.families import density as density_of
from crosslmm.formula import column
from crosslmm.grouped_effects import Grouping
from crosslmm.laplace import Laplace, apply_inverse_link, log_density
from crosslmm.levels import Levels, joined
from crosslmm.recorded import fixed_part, random_part


def linear_predictors(
    fit: Mapping[str, Any],
    predictors: Mapping[str, np.ndarray],
    groups: Mapping[str, Levels],
    n: int,
    omitted: Collection[str] | None = None,
) -> np.ndarray:
    """Return the linear predictors (n, K), with the conditional modes of random effects.

    Parameters
    ----------
    fit
        The record.
    predictors
        Columns (n,), with the fit's scaling.
    groups
        Grouping variables of the rows; a new level adds 0.
    n
        Number of rows.
    omitted
        Grouping variables whose effects are left out; None for all.
    """
    density, columns = fit["density"], []
    for part in (fit, density["scale"]):
        names = [] if omitted is None else [name for name in part["ranef"] if name not in omitted]
        modes = {"ranef": {n: part["ranef"][n] for n in names}, "random": part["random"]}
        columns.append(fixed_part(part, predictors, n) + random_part(modes, predictors, groups, n))
    columns += [np.full(n, value) for value in density["others"].values()]
    return np.column_stack(columns)


def log_densities(fit: Mapping[str, Any], y: np.ndarray, eta: np.ndarray) -> np.ndarray:
    """Return log p(y) (n,) at linear predictors (n, K)."""
    return log_density(density_of(fit["density"]["name"]), fit["density"]["link"], y, eta)


def expectation(fit: Mapping[str, Any], eta: np.ndarray) -> np.ndarray:
    """Return the mean (n,) of the response at linear predictors (n, K)."""
    density = density_of(fit["density"]["name"])
    return density.expectation(apply_inverse_link(fit["density"]["link"], eta))


def marginal(
    fit: Mapping[str, Any],
    predictors: Mapping[str, np.ndarray],
    groups: Mapping[str, Levels],
    y: np.ndarray,
    integrated: Collection[str] | None = None,
) -> np.ndarray:
    """Return the parts (n,) of the log-likelihood of rows, with random effects integrated out.

    The integral is Laplace's approximation at the fit's parameters, over the effects of the levels
    of these rows. A row's part is its log density at their mode plus an equal share of the rest.

    Parameters
    ----------
    fit, predictors, groups
        As for `linear_predictors`.
    y
        Response (n,).
    integrated
        The grouping variables whose effects are integrated out; all by default. Other effects are
        at their conditional modes.
    """
    density, n = fit["density"], len(y)
    parts = (fit, density["scale"])
    every = list(dict.fromkeys(name for part in parts for name in part["random"]))
    names = [name for name in every if integrated is None or name in integrated]
    offset = linear_predictors(fit, predictors, groups, n, names)
    if not names:
        return log_densities(fit, y, offset)
    groupings, roots = [], []
    for name in names:
        columns, index, blocks = [], [], []
        for k, part in enumerate(parts):
            if name in part["random"]:
                spread = part["random"][name]
                columns += [column(term, predictors, n) for term in spread["terms"]]
                index += [k] * len(spread["terms"])
                blocks.append(_root(spread))
        levels = joined(name, groups)
        L = np.zeros((len(index),) * 2)
        start = 0
        for block in blocks:
            L[start : start + len(block), start : start + len(block)] = block
            start += len(block)
        free = np.ones(L.shape, dtype=bool)
        grouping = Grouping(
            levels.codes, len(levels.names), np.column_stack(columns), np.array(index), free
        )
        groupings.append(grouping)
        roots.append(L.ravel())
    empty = [np.empty((n, 0))] * offset.shape[1]
    model = Laplace(density_of(density["name"]), density["link"], y, empty, groupings, offset)
    mode = model.mode(np.concatenate(roots))
    given = model.log_density(mode.eta)
    return given + (mode.loglik - given.sum()) / n


def _root(spread: Mapping[str, Any]) -> np.ndarray:
    """Return a square root (k, k) of the covariance of a grouping variable's effects."""
    sd = np.array(spread["sd"])
    correlation = np.nan_to_num(np.array(spread["correlation"], dtype=float))
    values, vectors = np.linalg.eigh(sd[:, None] * correlation * sd)
    return vectors * np.sqrt(np.maximum(values, 0.0))
