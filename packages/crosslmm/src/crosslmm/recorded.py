"""Apply the record of a fit (crosslmm.fitting.figures) to rows: predictions and log-likelihoods.

Gaussian log-likelihoods of observations under a fitted mixed model: y = X b + Z u + e.

The fit's fixed effects b, covariances S of the random effects u, and residual sd sigma are given;
nothing is fitted here. The likelihoods differ in their treatment of u:

conditional
    u is at its conditional modes (0 for new levels): the same subjects, reading the same sentences.
marginal
    u is integrated out: y ~ N(X b, Z S Z' + sigma^2 I). For all grouping factors: unseen subjects
    and sentences; for subjects only, with the modes of the others: unseen subjects.
fixed_effects
    u is left out: y ~ N(X b, sigma^2 I).
modelblocks
    As `get_loglik_lmer.r` of Modelblocks (commit 651764c) computes it; see `modelblocks`.

Each returns the parts (n,) of the rows, which sum to the log-likelihood. Natural logarithm. A row's
part is its share e_i (V^-1 e)_i of the quadratic form plus an equal share of everything else.

Predictors and log-likelihoods of rows from the record of a model fitted by Laplace's method.

Such a record has `density` with its `name` (a module of `crosslmm.densities`), `link`, `scale`
(`fixed`, `random` and `ranef` of log sigma, in the form of those of the location; None without a
sigma), and `others`, further scale parameters, as logarithms.
"""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from crosslmm.factors import Levels, joined
from crosslmm.families import density as density_of
from crosslmm.formula import column
from crosslmm.laplace import Grouping, Laplace, apply_inverse_link, log_density


def scaling_of(predictors: Mapping[str, np.ndarray]) -> dict[str, dict[str, float]]:
    """Return mean and sample standard deviation of each predictor; sd 1 for a constant."""
    scaling = {}
    for name, values in predictors.items():
        sd = float(values.std(ddof=1)) if np.ptp(values) > 0 else 1.0
        scaling[name] = {"mean": float(values.mean()), "sd": sd}
    return scaling


def scaled(
    predictors: Mapping[str, np.ndarray], scaling: Mapping[str, Mapping[str, float]]
) -> dict[str, np.ndarray]:
    """Centre and scale predictors with the statistics of the fitted data."""
    return {
        name: (predictors[name] - by["mean"]) / by["sd"] for name, by in sorted(scaling.items())
    }


def fixed_part(fit: Mapping[str, Any], predictors: Mapping[str, np.ndarray], n: int) -> np.ndarray:
    """Return X b (n,) for predictors with the fit's scaling."""
    total = np.zeros(n)
    for effect in fit["fixed"]:
        total += effect["estimate"] * column(effect["term"], predictors, n)
    return total


def random_part(
    fit: Mapping[str, Any],
    predictors: Mapping[str, np.ndarray],
    groups: Mapping[str, Levels],
    n: int,
) -> np.ndarray:
    """Return Z b-hat (n,) with the conditional modes; 0 for new levels."""
    total = np.zeros(n)
    for name, modes in fit["ranef"].items():
        terms = fit["random"][name]["terms"]
        group = joined(name, groups)
        unseen = [0.0] * len(terms)
        table = np.array([modes.get(level, unseen) for level in group.names])
        for index, term in enumerate(terms):
            total += table[group.codes, index] * column(term, predictors, n)
    return total


def independent(residuals: np.ndarray, sigma: float) -> np.ndarray:
    """Return log N(residuals; 0, sigma^2) of each row (n,).

    This is the conditional likelihood for residuals (n,) of predictions with random effects, and
    `fixed_effects` for residuals of predictions without them.
    """
    return -0.5 * (np.log(2 * np.pi * sigma**2) + residuals**2 / sigma**2)


def marginal(
    residuals: np.ndarray,
    fit: Mapping[str, Any],
    predictors: Mapping[str, np.ndarray],
    groups: Mapping[str, Levels],
    integrated: Collection[str] | None = None,
) -> np.ndarray:
    """Return the parts (n,) of log N(residuals; 0, Z S Z' + sigma^2 I).

    Exact, by Woodbury's identity on cross-products: with S = sigma^2 Lambda Lambda' and
    P = (Z Lambda)'Z Lambda + I, |Z S Z'/sigma^2 + I| = |P| and its inverse is
    I - Z Lambda P^-1 (Z Lambda)'.

    Parameters
    ----------
    residuals
        Residuals (n,) of predictions without random effects.
    fit
        The record of a fit (crosslmm.fitting.figures).
    predictors
        Predictors with the fit's scaling.
    groups
        Grouping variables of the rows.
    integrated
        The grouping variables whose effects are integrated out; all by default. Other effects are
        at their conditional modes.
    """
    sigma = fit["sigma"]
    names = sorted(n for n in fit["random"] if integrated is None or n in integrated)
    others = {name: modes for name, modes in fit["ranef"].items() if name not in names}
    if others:
        at_modes = {"ranef": others, "random": fit["random"]}
        residuals = residuals - random_part(at_modes, predictors, groups, len(residuals))
    if not names:
        return independent(residuals, sigma)
    design = sparse.hstack(
        [_z_lambda(fit["random"][name], sigma, predictors, joined(name, groups)) for name in names],
        format="csr",
    )
    return _parts(residuals, design, sigma)


def modelblocks(
    residuals: np.ndarray,
    fit: Mapping[str, Any],
    predictors: Mapping[str, np.ndarray],
    groups: Mapping[str, Levels],
    levels_of_fit: Mapping[str, int],
) -> np.ndarray:
    """Return the parts (n,) of the likelihood that Modelblocks' `get_loglik_lmer.r` computes.

    The script intends the covariance of a subject's rows. It takes k rows of lme4's Zt per subject
    (the number of by-subject effects), and the leading k x k block of Lambdat. lme4 sorts grouping
    factors by their number of levels, largest first, so these are the subjects' only if there are
    at least as many subjects as levels of any other factor. If there are more sentences, subject s
    gets only the intercept variance of the sentences (s - 1) k + 1 to s k.

    Parameters
    ----------
    residuals
        Residuals (n,) of predictions without random effects.
    fit, predictors, groups
        As for `marginal`; `subject` is one of the fit's grouping variables.
    levels_of_fit
        Number of levels of each grouping variable in the data of the fit. Their order determines
        the start of Lambdat; the order in these rows determines the start of Zt.
    """
    sigma, n = fit["sigma"], len(residuals)
    subject = groups["subject"]
    k = len(fit["random"]["subject"]["terms"])
    there = {name: joined(name, groups) for name in fit["random"]}
    first = max(fit["random"], key=levels_of_fit.__getitem__) if k > 1 else "subject"
    block = _covariance(fit["random"][first])
    repeats = -(-k // len(block))
    V = np.kron(np.eye(repeats), block)[:k, :k]
    order = sorted(there, key=lambda name: -len(there[name].names))
    widths = [len(fit["random"][name]["terms"]) for name in order]
    starts = np.cumsum([0] + [len(there[o].names) * w for o, w in zip(order, widths, strict=True)])
    values, vectors = np.linalg.eigh(V / sigma**2)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    Zt = np.zeros((n, k))
    for name, width, start in zip(order, widths, starts, strict=False):
        spread, codes = fit["random"][name], there[name].codes
        for index, term in enumerate(spread["terms"]):
            row = start + codes * width + index - subject.codes * k
            inside = (row >= 0) & (row < k)
            values = column(term, predictors, n)
            Zt[np.flatnonzero(inside), row[inside]] += values[inside]
    entries = Zt @ root
    columns = subject.codes[:, None] * k + np.arange(k)
    shape = (n, len(subject.names) * k)
    design = sparse.csr_array((entries.ravel(), columns.ravel(), np.arange(0, n * k + 1, k)), shape)
    return _parts(residuals, design, sigma)


def _parts(residuals: np.ndarray, design: sparse.csr_array, sigma: float) -> np.ndarray:
    """Return the parts (n,) of log N(residuals; 0, sigma^2 (design design' + I))."""
    P = (design.T @ design + sparse.identity(design.shape[1])).tocsc()
    # P is symmetric positive definite, so no pivoting; the pivots are the factor's diagonal.
    factor = splu(
        P, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
    )
    log_determinant = np.log(np.abs(factor.U.diagonal())).sum()
    solved = residuals - design @ factor.solve(design.T @ residuals)
    rest = np.log(2 * np.pi * sigma**2) + log_determinant / len(residuals)
    return -0.5 * (rest + residuals * solved / sigma**2)


def _covariance(spread: Mapping[str, Any]) -> np.ndarray:
    """Return the covariance (k, k) of a grouping variable's effects."""
    sd = np.array(spread["sd"])
    # The correlation with a zero-sd effect is undefined (null) and has no weight.
    correlation = np.nan_to_num(np.array(spread["correlation"], dtype=float))
    return sd[:, None] * correlation * sd


def _z_lambda(
    spread: Mapping[str, Any], sigma: float, predictors: Mapping[str, np.ndarray], group: Levels
) -> sparse.csr_array:
    """Return Z Lambda (n, levels * k) of one grouping variable."""
    terms, n = spread["terms"], len(group.codes)
    values, vectors = np.linalg.eigh(_covariance(spread) / sigma**2)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    k = len(terms)
    entries = np.column_stack([column(term, predictors, n) for term in terms]) @ root
    columns = group.codes[:, None] * k + np.arange(k)
    return sparse.csr_array(
        (entries.ravel(), columns.ravel(), np.arange(0, n * k + 1, k)),
        shape=(n, len(group.names) * k),
    )


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
    for part in filter(None, (fit, density["scale"])):
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


def density_marginal(
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
    parts = (fit, density["scale"]) if density["scale"] else (fit,)
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
