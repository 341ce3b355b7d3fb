"""Log-likelihoods of observations under the record of a fit; natural logarithm throughout.

recency.regression.likelihoods lists those of the exploratory partition, and
crosslmm.recorded defines those of mixed models. Without random effects all of them are
equal.
"""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from crosslmm import families, recorded
from crosslmm.factors import joined
from crosslmm.formula import column
from crosslmm.recorded import fixed_part, scaled, scaling_of
from crosslmm.summary import FitSummary
from recency import plugins
from recency.endpoints import ENDPOINTS, HELD_OUT
from recency.errors import InputError
from recency.regression.prediction import all_predictors, linear_predictor
from recency.regression.predictors import Rows


def contributions(record: Mapping[str, Any], rows: Rows) -> np.ndarray:
    """Return the log-likelihood (n,) of each row given the random effects; new levels have 0."""
    z, jacobian = families.transformed(record, rows.y)
    if "density" in record:
        return recorded.log_densities(record, z, all_predictors(record, rows)) + jacobian
    return recorded.independent(z - linear_predictor(record, rows), record["sigma"]) + jacobian


def predictive(record: Mapping[str, Any], rows: Rows) -> np.ndarray:
    """Return the log predictive density (n,) of each row.

    Unlike `contributions`, the variance of a row's unseen effects is added to sigma squared. With
    those effects at 0 the density of a new subject's times would be far too narrow, and favour a
    model whose other terms happen to follow the subject. Events and skewed responses have no such
    closed form; for these it equals `contributions`.
    """
    if not families.is_linear(record):
        return contributions(record, rows)
    predictors, n = scaled(rows.predictors, record["scaling"]), len(rows.y)
    variance = np.full(n, record["sigma"] ** 2)
    for name, spread in record["random"].items():
        group = joined(name, rows.groups)
        unseen = np.array([level not in record["ranef"][name] for level in group.names])
        sd = np.array(spread["sd"])
        # The correlation with a zero-sd effect is undefined and has no weight.
        S = sd[:, None] * np.nan_to_num(np.array(spread["correlation"], dtype=float)) * sd
        Z = np.column_stack([column(term, predictors, n) for term in spread["terms"]])
        variance += unseen[group.codes] * np.einsum("ni,ij,nj->n", Z, S, Z)
    z, jacobian = families.transformed(record, rows.y)
    residuals = z - linear_predictor(record, rows)
    return -0.5 * (np.log(2 * np.pi * variance) + residuals**2 / variance) + jacobian


@dataclass(frozen=True)
class Scored:
    """Rows of a response under the record of a fit."""

    record: Mapping[str, Any]
    rows: Rows
    predictors: Mapping[str, np.ndarray]
    """scaled"""

    @cached_property
    def transformed(self) -> tuple[np.ndarray, np.ndarray]:
        """The transformed response of the model, and the log of the Jacobian, (n,) each."""
        return families.transformed(self.record, self.rows.y)

    @cached_property
    def residuals(self) -> np.ndarray:
        """Residuals (n,) of a linear model's predictions without random effects."""
        fixed = fixed_part(self.record, self.predictors, len(self.rows.y))
        return self.transformed[0] - fixed

    def independent(self) -> np.ndarray:
        """Return the log-likelihood (n,) of each row without random effects."""
        z, jacobian = self.transformed
        if "density" in self.record:
            given = self.record, self.predictors, self.rows.groups, len(z)
            eta = recorded.linear_predictors(*given)
            return recorded.log_densities(self.record, z, eta) + jacobian
        return recorded.independent(self.residuals, self.record["sigma"]) + jacobian

    def marginal(self, integrated: Collection[str] | None = None) -> np.ndarray:
        """Return the parts (n,) of the log-likelihood with these groups' effects integrated out.

        Exact for linear models; Laplace's approximation for others.
        """
        z, jacobian = self.transformed
        given = self.record, self.predictors, self.rows.groups
        if "density" in self.record:
            return recorded.density_marginal(*given, z, integrated) + jacobian
        return recorded.marginal(self.residuals, *given, integrated) + jacobian


def _compute(name: str, scored: Scored) -> np.ndarray | None:
    """Return each row's part (n,) of a likelihood; None if the model has no such likelihood."""
    return plugins.load("recency.regression.likelihoods", name).parts(scored)


def parts(record: Mapping[str, Any], rows: Rows) -> dict[str, np.ndarray]:
    """Return the parts (n,) of each likelihood by its name in HELD_OUT, and as `<name>_rescaled`."""
    if families.of(record) == families.SHIFTED and (below := (rows.y <= record["shift"]).sum()):
        raise InputError(
            f"{below:,} of {len(rows.y):,} exploratory observations are not above the shift of "
            f"{record['shift']:.4g}, the smallest {rows.y.min():g}: their density is 0; state a "
            "smaller `shift` in the design, or filter such rows out"
        )
    scored = Scored(record, rows, scaled(rows.predictors, record["scaling"]))
    by_name = {name: _compute(name, scored) for name in HELD_OUT}
    scored = replace(scored, predictors=scaled(rows.predictors, _scaling_of_rows(record, rows)))
    names = [name for name in HELD_OUT if ENDPOINTS[name].rescaled]
    by_name |= {f"{name}_rescaled": _compute(name, scored) for name in names}
    return {name: values for name, values in by_name.items() if values is not None}


def _scaling_of_rows(record: Mapping[str, Any], rows: Rows) -> dict[str, dict[str, float]]:
    """Return the scaling of these rows; predictors that the fit does not scale stay unscaled."""
    rescaled = scaling_of({name: rows.predictors[name] for name in record["scaling"]})
    kept = {"mean": 0.0, "sd": 1.0}
    return {
        name: by if dict(by) == kept else rescaled[name] for name, by in record["scaling"].items()
    }


def marginal(record: Mapping[str, Any], rows: Rows) -> float:
    """Return the log-likelihood of rows with their random effects integrated out."""
    return float(Scored(record, rows, scaled(rows.predictors, record["scaling"])).marginal().sum())


def in_sample_parts(summary: FitSummary, record: Mapping[str, Any], rows: Rows) -> np.ndarray:
    """Return the parts (n,) of the maximised log-likelihood of the rows that were fitted.

    They sum to `summary.loglik`: parts of the marginal likelihood for mixed models, and each row's
    log-likelihood for least squares. Laplace's approximation is no sum over rows, so each row has its
    conditional part and an equal share of the remainder.
    """
    values = Scored(record, rows, scaled(rows.predictors, record["scaling"])).marginal()
    return values + (summary.loglik - values.sum()) / len(values)


def log_likelihoods(
    summary: FitSummary | None,
    record: Mapping[str, Any],
    rows: Rows,
    held_out: Mapping[str, np.ndarray] | None,
) -> dict[str, float]:
    """Return log-likelihoods of both partitions; NaN if the fit or the rows are missing.

    Parameters
    ----------
    summary, record
        The fit; `summary` is None if there is none.
    rows
        The rows that were fitted.
    held_out
        The `parts` of the exploratory partition; None if there is none.

    Returns
    -------
    dict
        `fit`, the maximised marginal likelihood; `fit_conditional`; and the sums of `parts`:
        `exploratory` for the conditional one, `exploratory_<name>` for the others.
    """
    names = ("fit", "fit_conditional", "exploratory", "exploratory_marginal")
    sums = dict.fromkeys(names, math.nan)
    if summary is None:
        return sums
    fitted = float(contributions(record, rows).sum())
    sums |= {"fit": summary.loglik, "fit_conditional": fitted}
    for name, values in (held_out or {}).items():
        sums["exploratory" if name == "conditional" else f"exploratory_{name}"] = float(
            values.sum()
        )
    return sums
