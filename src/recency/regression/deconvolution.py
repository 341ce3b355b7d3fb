"""Continuous-time deconvolution: predictors convolved with a kernel whose parameters are estimated.

A subject has read words of an item at onsets t_j. The column of a response to word i is c_i = sum
of k(t_i - t_j) (x_j - mean) over the words j up to i, where k is a density of delays
(recency.regression.kernels); with 1 in place of x_j it is the rate of words. For given parameters
of k the column is like any other, so the parameters are estimated by profile likelihood: each
evaluation fits the whole mixed model.

References
----------
Shain, C. & Schuler, W. (2021). Continuous-time deconvolutional regression for psycholinguistic
modeling. *Cognition* 215, 104735.
"""

import contextlib
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize

from recency.errors import InputError
from recency.mixed.fitting import fit_model
from recency.mixed.formula import Formula
from recency.mixed.recorded import scaled, scaling_of
from recency.regression.coding import Coding
from recency.regression.estimation import prepared
from recency.regression.kernels import KERNELS, named
from recency.regression.predictors import Rows
from recency.regression.readings import Readings, impulses_of, readings_of
from recency.regression.texts import Texts

STEP = 0.02
"""Step in the log parameters of a kernel, for differences of the profile likelihood."""
CLIMBS = 2
"""Number of starts per kernel that a climb begins from: the best ones."""
FLAT = 0.05
"""Observed information of a log parameter below which it is not identified (a factor of 90)."""
AT_BOUND = 0.01
"""Distance of a log parameter from its bound below which it counts as being there."""


@dataclass
class _Term:
    """A column with a kernel: its impulses, and the slice of its parameters among all."""

    column: str
    kernel: str
    readings: Readings
    at: np.ndarray
    impulses: np.ndarray
    where: slice

    def convolved(self, logs: np.ndarray) -> np.ndarray:
        values = np.exp(logs[self.where])
        return self.readings.convolved(self.impulses, self.at, self.kernel, values)

    def exposure(self, logs: np.ndarray) -> float:
        """Return the mean of the column (1/s) if the predictor were 1 at every word."""
        ones, values = np.ones(len(self.impulses)), np.exp(logs[self.where])
        return float(self.readings.convolved(ones, self.at, self.kernel, values).mean())


def estimate_kernels(formula: Formula, texts: Texts, rows: Rows, coding: Coding) -> Coding:
    """Estimate the parameters of a formula's kernels, and add their columns to the rows.

    Parameters
    ----------
    formula
        A linear mixed model.
    texts, rows, coding
        The words, the observations that are fitted, and the coding of their columns.

    Returns
    -------
    Coding
        With, for each column of a kernel: `parameters` by name; `joint`, the covariance of the
        coefficient (response x s per unit of the predictor) and the log parameters; `exposure` and
        its gradient by the log parameters; and a `note` if a parameter is at its bound.
    """
    terms = _terms(texts, rows, coding)
    if not terms:
        return coding
    kernels = [KERNELS[term.kernel] for term in terms]
    bounds = np.log([pair for kernel in kernels for pair in kernel.bounds])

    model, scaling, _ = prepared(formula, texts, rows, coding)
    others = scaled(rows.predictors, scaling)

    def fitted(logs: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Return the log-likelihood, and each column's coefficient and standard error."""
        columns = {term.column: term.convolved(logs) for term in terms}
        by = scaling_of(columns)
        predictors = others | scaled(columns, by)
        with contextlib.redirect_stderr(io.StringIO()):
            result = fit_model(
                model, predictors, rows.y, rows.groups, "cross_products", confirm=False
            )
        if result.summary is None:
            raise InputError(f"formula '{formula}': no kernel can be estimated: {result.note}")
        effects = dict(zip(result.summary.fixed, result.summary.se, strict=True))
        pairs = [
            (result.summary.fixed.get(name, np.nan), effects.get(name, np.nan)) for name in columns
        ]
        sds = np.array([by[name]["sd"] for name in columns])
        return result.summary.loglik, *(np.array(pairs) / sds[:, None]).T

    logs = _maximise(lambda at: fitted(at)[0], [kernel.starts for kernel in kernels], bounds)
    uncertainty = _uncertainty(fitted, logs, bounds)
    for term in terms:
        rows.predictors[term.column] = term.convolved(logs)
    more = {t.column: _kernel_record(t, logs, bounds, *uncertainty, k) for k, t in enumerate(terms)}
    columns = {name: {**spec, **more.get(name, {})} for name, spec in coding.columns.items()}
    return replace(coding, columns=columns)


def _terms(texts: Texts, rows: Rows, coding: Coding) -> list[_Term]:
    subject, terms, first = rows.groups["subject"], [], 0
    named_subjects = np.array(subject.names, dtype=object)[subject.codes]
    for column, spec in coding.columns.items():
        if "kernel" in spec and column in rows.predictors:
            readings = readings_of(texts, spec["term"])
            at = readings.places(named_subjects, rows.word)
            after = first + len(KERNELS[spec["kernel"]].parameters)
            terms.append(
                _Term(
                    column,
                    spec["kernel"],
                    readings,
                    at,
                    impulses_of(texts, spec["term"]),
                    slice(first, after),
                )
            )
            first = after
    return terms


def _maximise(
    loglik: Callable[[np.ndarray], float], starts: Sequence[Sequence], bounds: np.ndarray
) -> np.ndarray:
    """Return the log parameters of all kernels that maximise the log-likelihood.

    The profile may have several maxima, and plateaus where a kernel is much narrower or wider than
    the intervals between words. Each kernel's starts are therefore evaluated in turn, and the best
    ones climbed from. With several kernels this is repeated once, from starts that improve on the
    maximum so far.
    """
    best = np.log(np.concatenate([of_one[0] for of_one in starts]))
    value = loglik(best)
    ends = np.cumsum([0, *(len(of_one[0]) for of_one in starts)])
    for number in range(2 if len(starts) > 1 else 1):
        for of_kernel, low, high in zip(starts, ends, ends[1:], strict=False):
            tried = np.repeat(best[None], len(of_kernel), 0)
            tried[:, low:high] = np.log(of_kernel)
            values = np.array([loglik(logs) for logs in tried])
            for row in np.argsort(-values)[:CLIMBS]:
                if number and values[row] < value:
                    break
                climbed = _climb(loglik, tried[row], values[row], bounds)
                if (reached := loglik(climbed)) > value:
                    best, value = climbed, reached
    return best


def _climb(
    loglik: Callable[[np.ndarray], float], start: np.ndarray, value: float, bounds: np.ndarray
) -> np.ndarray:
    options = {"eps": 1e-3, "ftol": 1e-8, "gtol": 1e-2, "maxiter": 200}
    # The objective is shifted to be near 0, so that tolerances are in nats.
    best = minimize(
        lambda logs: value - loglik(logs), start, method="L-BFGS-B", bounds=bounds, options=options
    )
    return best.x


def _uncertainty(
    fitted: Callable, logs: np.ndarray, bounds: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, bool]:
    """Return the covariance of the log parameters, and each coefficient's gradient, value and se.

    Parameters at a bound, and directions in which the profile is flat, are treated as known; the
    last value is whether there are flat directions.
    """
    p = len(logs)
    free = np.flatnonzero(
        (logs > bounds[:, 0] + AT_BOUND + STEP) & (logs < bounds[:, 1] - AT_BOUND - STEP)
    )
    centre, values, se = fitted(logs)
    steps = np.eye(p) * STEP
    up, down = {}, {}
    for k in free:
        up[k], down[k] = fitted(logs + steps[k]), fitted(logs - steps[k])
    gradient = np.zeros((p, len(values)))
    information = np.zeros((p, p))
    for k in free:
        gradient[k] = (up[k][1] - down[k][1]) / (2 * STEP)
        information[k, k] = -(up[k][0] - 2 * centre + down[k][0]) / STEP**2
    for i, k in enumerate(free):
        for m in free[:i]:
            corners = [
                fitted(logs + a * steps[k] + b * steps[m])[0] * a * b
                for a in (1, -1)
                for b in (1, -1)
            ]
            information[k, m] = information[m, k] = -sum(corners) / (4 * STEP**2)
    covariance, is_flat = np.zeros((p, p)), False
    if len(free):
        sizes, directions = np.linalg.eigh(information[np.ix_(free, free)])
        sound = sizes > FLAT
        covariance[np.ix_(free, free)] = (directions[:, sound] / sizes[sound]) @ directions[
            :, sound
        ].T
        is_flat = not sound.all()
    return covariance, gradient, values, se, is_flat


def _kernel_record(
    term: _Term,
    logs: np.ndarray,
    bounds: np.ndarray,
    covariance: np.ndarray,
    gradient: np.ndarray,
    values: np.ndarray,
    se: np.ndarray,
    is_flat: bool,
    number: int,
) -> dict[str, Any]:
    """Return the record of a column's kernel."""
    chosen, of_all = term.where, covariance @ gradient[:, number]
    joint = np.empty((1 + chosen.stop - chosen.start,) * 2)
    joint[0, 0] = se[number] ** 2 + gradient[:, number] @ of_all
    joint[0, 1:] = joint[1:, 0] = of_all[chosen]
    joint[1:, 1:] = covariance[chosen, chosen]
    slopes = []
    for k in range(chosen.start, chosen.stop):
        step = np.zeros(len(logs))
        step[k] = STEP
        slopes.append((term.exposure(logs + step) - term.exposure(logs - step)) / (2 * STEP))
    about = {
        "parameters": named(term.kernel, np.exp(logs[chosen])),
        "joint": joint.tolist(),
        "exposure": term.exposure(logs),
        "exposure_gradient": slopes,
        "reach_s": KERNELS[term.kernel].reach(0.01, *np.exp(logs[chosen])),
    }
    ends = np.abs(logs[chosen, None] - bounds[chosen]).min(1) <= AT_BOUND + STEP
    names_ = KERNELS[term.kernel].parameters
    notes = [f"{name} is at its bound" for name, end in zip(names_, ends, strict=True) if end]
    if is_flat:
        notes.append("parameters of kernels are not identified: intervals are given them")
    return about | ({"note": "; ".join(notes)} if notes else {})
