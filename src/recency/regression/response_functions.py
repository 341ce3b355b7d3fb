"""Response functions of delayed effects, with standard errors: the effect of a unit by delay."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from recency.mixed.summary import FitSummary
from recency.regression.coding import Coding
from recency.regression.delay_terms import predictor_of
from recency.regression.kernels import KERNELS

POINTS = 101
"""Delays at which a kernel is evaluated."""
STEP = 1e-4


def response_functions(
    coding: Coding, scaling: Mapping[str, Mapping[str, float]], summary: FitSummary
) -> list[dict[str, Any]]:
    """Return the response function of each delayed effect of a fit.

    Parameters
    ----------
    coding
        The coding of the columns.
    scaling
        The scaling of the columns.
    summary
        The fit to the scaled columns.

    Returns
    -------
    list of dict
        term, predictor, kind (`lags` or the kernel), x (lags in words, or delays in seconds),
        effect and se (units of the response per unit of the predictor), cumulative and
        cumulative_se (the effect of one unit more at every word), and for kernels also parameters
        with se, and note.
    """
    functions = []
    places = {name: number for number, name in enumerate(summary.fixed)}
    by_term: dict[str, list[str]] = {}
    for column, spec in coding.columns.items():
        if column in places and ("lags" in spec or "kernel" in spec):
            by_term.setdefault(spec["term"], []).append(column)
    for term, columns in by_term.items():
        sds = np.array([scaling[column]["sd"] for column in columns])
        chosen = [places[column] for column in columns]
        values = np.array([summary.fixed[column] for column in columns]) / sds
        about = {"term": term, "predictor": predictor_of(term)}
        specs = [coding.columns[column] for column in columns]
        if "lags" in specs[0]:
            covariance = summary.covariance[np.ix_(chosen, chosen)] / np.outer(sds, sds)
            functions.append(about | _of_lags(specs, values, covariance))
        elif "joint" in specs[0]:
            functions.append(about | _of_kernel(specs[0], float(values[0])))
    return functions


def _of_lags(specs: list[Mapping], values: np.ndarray, covariance: np.ndarray) -> dict[str, Any]:
    weights = np.array([spec["lags"] for spec in specs]).T
    total = weights.sum(0)
    variances = np.einsum("li,ij,lj->l", weights, covariance, weights)
    return {
        "kind": "lags",
        "x": list(range(len(weights))),
        "effect": (weights @ values).tolist(),
        "se": np.sqrt(variances).tolist(),
        "cumulative": float(total @ values),
        "cumulative_se": float(np.sqrt(total @ covariance @ total)),
    }


def _of_kernel(spec: Mapping[str, Any], value: float) -> dict[str, Any]:
    kernel, joint = KERNELS[spec["kernel"]], np.array(spec["joint"])
    logs = np.log([spec["parameters"][name] for name in kernel.parameters])
    x = np.linspace(0, spec["reach_s"], POINTS)

    def curve(at: np.ndarray) -> np.ndarray:
        return at[0] * kernel.density(x, *np.exp(at[1:]))

    effect, se = _by_delta(curve, np.concatenate([[value], logs]), joint)
    slopes = np.array([spec["exposure"], *(value * np.array(spec["exposure_gradient"]))])
    of_logs = np.sqrt(np.diagonal(joint)[1:])
    return {
        "kind": spec["kernel"],
        "x": x.tolist(),
        "effect": effect.tolist(),
        "se": se.tolist(),
        "cumulative": value * spec["exposure"],
        "cumulative_se": float(np.sqrt(slopes @ joint @ slopes)),
        "parameters": dict(spec["parameters"]),
        "parameters_se_of_log": dict(zip(kernel.parameters, of_logs.tolist(), strict=True)),
        "coefficient": value,
        "coefficient_se": float(np.sqrt(joint[0, 0])),
        "note": spec.get("note", ""),
    }


def _by_delta(
    function: Callable[[np.ndarray], np.ndarray], at: np.ndarray, covariance: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return a function's values at estimates, and their standard errors by the delta method."""
    slopes = []
    for k in range(len(at)):
        step = np.zeros(len(at))
        step[k] = STEP * max(abs(at[k]), 1.0)
        slopes.append((function(at + step) - function(at - step)) / (2 * step[k]))
    J = np.array(slopes)
    return function(at), np.sqrt(np.maximum(np.einsum("ki,kl,li->i", J, covariance, J), 0.0))
