"""Diagnostic plots of a mixed model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

from crosslmm import families
from crosslmm.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from crosslmm.model import MixedModel

POINTS = 5_000
"""Largest number of rows in the plot against fitted values; more are sampled at random."""
COLUMNS = 3
SIZE = 3.2
"""Width and height of a panel, in inches."""


def standardised(fit: MixedModel) -> np.ndarray:
    """Return residuals (n,) with mean 0 and variance 1 under the model; Gaussian in linear models.

    Residuals of a lognormal model are those of the logarithm; counts and events have Pearson's.
    """
    source, family = fit._source, fit.family
    response = (fit.fitted + fit.residuals).to_numpy()
    fitted = fit.fitted.to_numpy()
    rows = source.request.rows
    weights = (
        rows[source.request.weights].to_numpy() if source.request.weights else np.ones(fit.nobs)
    )
    if family == families.GAUSSIAN:
        return np.sqrt(weights) * (response - fitted) / fit.sigma
    if family in (families.LOGNORMAL, families.SHIFTED):
        # The fitted mean is that of the lognormal distribution.
        eta = np.log(fitted - source.shift) - fit.sigma**2 / 2
        return (np.log(response - source.shift) - eta) / fit.sigma
    if family == families.BINOMIAL:
        return np.sqrt(weights) * (response - fitted) / np.sqrt(fitted * (1 - fitted))
    if family in families.GENERALISED:
        return (response - fitted) / np.sqrt(fitted)
    raise InputError(f"diagnostic plots support linear models and lme4's, not family {family!r}")


def plot(fit: MixedModel) -> Figure:
    """Return the figure; see crosslmm.model.MixedModel.plot."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise InputError("plot() needs matplotlib: pip install matplotlib") from None
    residuals = standardised(fit)
    effects = [
        (group, term, modes[term].to_numpy())
        for group, modes in fit.modes.items()
        for term in modes
    ]
    panels = 2 + len(effects)
    rows = -(-panels // COLUMNS)
    figure = Figure(figsize=(SIZE * COLUMNS, SIZE * rows), layout="constrained")
    axes = figure.subplots(rows, COLUMNS, squeeze=False).ravel()
    for axis in axes[panels:]:
        axis.remove()
    shown = np.arange(len(residuals))
    if len(shown) > POINTS:
        shown = np.random.default_rng(0).choice(shown, POINTS, replace=False)
    axes[0].plot(fit.fitted.to_numpy()[shown], residuals[shown], ".", markersize=2, alpha=0.5)
    axes[0].axhline(0, color="black", linewidth=0.8)
    axes[0].set(xlabel="fitted", ylabel="standardised residual", title="residuals")
    _quantiles(axes[1], residuals, "standardised residual", "residuals")
    for axis, (group, term, modes) in zip(axes[2:], effects, strict=False):
        _quantiles(axis, modes, "conditional mode", f"{term} by {group}")
    return figure


def _quantiles(axis: Axes, values: np.ndarray, label: str, title: str) -> None:
    """Plot values against quantiles of the normal distribution, with the line of their sd."""
    ordered = np.sort(values)
    shares = (np.arange(len(ordered)) + 0.5) / len(ordered)
    quantiles = ndtri(shares)
    axis.plot(quantiles, ordered, ".", markersize=3)
    axis.plot(quantiles[[0, -1]], values.mean() + values.std() * quantiles[[0, -1]], color="black")
    axis.set(xlabel="normal quantile", ylabel=label, title=title)
