"""A fitted mixed model as text, as R's summary() prints it, as a table for papers, and as plots."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr, ndtri

from crosslmm import families
from crosslmm.errors import InputError
from crosslmm.families import GAUSSIAN, GENERALISED, LINEAR, scales

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from crosslmm.model import MixedModel


LEAST = (
    1e-8  # range of modes of an effect without variance, as a share of that of the fitted values
)
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
        return np.asarray(np.sqrt(weights) * (response - fitted) / fit.sigma)
    if family in (families.LOGNORMAL, families.SHIFTED):
        # The fitted mean is that of the lognormal distribution.
        eta = np.log(fitted - source.shift) - fit.sigma**2 / 2
        return np.asarray((np.log(response - source.shift) - eta) / fit.sigma)
    if family == families.BINOMIAL:
        return np.asarray(np.sqrt(weights) * (response - fitted) / np.sqrt(fitted * (1 - fitted)))
    if family in families.GENERALISED:
        return np.asarray((response - fitted) / np.sqrt(fitted))
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
        if np.ptp(modes[term]) > LEAST * np.ptp(fit.fitted)
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


def printed(fit: MixedModel) -> str:
    """Return the text: criteria, residuals, random effects, fixed effects, their correlation."""
    method = "REML" if fit.reml else "maximum likelihood"
    is_linear = fit.family in LINEAR
    kind = "Linear mixed model" if is_linear else "Generalised linear mixed model"
    lines = [f"{kind} fit by {method}", f"Formula: {fit.formula}"]
    if not is_linear:
        points = fit._source.request.quadrature
        lines[0] += f" (adaptive quadrature, {points} points)" if points > 1 else " (Laplace)"
    if fit.family != GAUSSIAN:
        lines.append(f"Family: {_family(fit)}")
    request = fit._source.request
    lines += [
        f"{name.capitalize()}: {column}"
        for name, column in (("weights", request.weights), ("offset", request.offset))
        if column
    ]
    lines += [f"Engine: {fit.engine}", ""]
    deviance = -2 * fit.loglik
    freedom = fit.nobs - fit.npar
    criteria = {
        "AIC": fit.aic,
        "BIC": fit.bic,
        "logLik": fit.loglik,
        ("REML crit." if fit.reml else "deviance"): deviance,
    }
    values = [f"{value:.1f}" for value in criteria.values()]
    lines += _table([[*criteria, "df.resid"], [*values, str(freedom)]], left=())
    if is_linear:
        quantiles = np.quantile(standardised(fit), [0, 0.25, 0.5, 0.75, 1])
        lines += ["", "Scaled residuals:"]
        lines += _table(
            [["Min", "1Q", "Median", "3Q", "Max"], [f"{q:.4f}" for q in quantiles]], left=()
        )
    lines += ["", "Random effects:", *_random(fit)]
    groups = "; ".join(f"{group}, {len(modes)}" for group, modes in fit.modes.items())
    lines += [f"Number of obs: {fit.nobs}, groups: {groups}", "", "Fixed effects:"]
    rows = [["", "Estimate", "Std. Error", "t value" if is_linear else "z value"]]
    if fit.ddf:
        rows = [["", "Estimate", "Std. Error", "df", "t value", "Pr(>|t|)"]]
        lines[0] += f"; t tests by {fit.ddf}'s method"
    for term, row in fit.fixed.iterrows():
        df, p = ([f"{row.df:.3f}"], [f"{row.p:.3g}"]) if fit.ddf else ([], [])
        rows.append([str(term), *_figures([row.estimate, row.se]), *df, f"{row.t:.3f}", *p])
    lines += _table(rows)
    if len(fit.fixed) > 1:
        lines += ["", "Correlation of Fixed Effects:", *_correlation(fit)]
    if fit.note:
        lines += ["", f"Note: {fit.note}"]
    return "\n".join(line.rstrip() for line in lines)


def _family(fit: MixedModel) -> str:
    """Return the family with further parameters of its distribution."""
    source, more = fit._source, []
    if source.shift:
        more.append(f"shift {source.shift:.4f}")
    if fit.family not in (*LINEAR, *GENERALISED):
        more += [
            f"{n} {math.exp(v):.4g}" for n, v in zip(scales(fit.family), source.scale, strict=True)
        ]
    return f"{fit.family} ({', '.join(more)})" if more else fit.family


def _random(fit: MixedModel) -> list[str]:
    rows = [["Groups", "Name", "Variance", "Std.Dev.", "Corr"]]
    before, row = None, 0
    for group, term, variance, sd in fit.random.itertuples(index=False):
        row = row + 1 if group == before else 0
        label, before = "" if row else group, group
        of_group = fit.correlations.get(group)
        correlations = [] if of_group is None else of_group.to_numpy()[row, :row]
        shown = "".join("   NaN" if math.isnan(r) else f" {r:5.2f}" for r in correlations)
        rows.append([label, term, *_figures([variance, sd]), shown])
    return _table(rows, left=(0, 1, 4))


def _correlation(fit: MixedModel) -> list[str]:
    names = [str(term) for term in fit.fixed.index]
    sd = np.sqrt(np.diagonal(fit.covariance))
    matrix = fit.covariance.to_numpy() / np.outer(sd, sd)
    short = ["(Intr)" if name == "(Intercept)" else name[:6] for name in names]
    rows = [["", *short[:-1]]]
    for number, name in enumerate(names[1:], 1):
        values = [f"{value:.3f}" for value in matrix[number, :number]]
        rows.append([name, *values, *[""] * (len(names) - 1 - number)])
    return _table(rows)


def _figures(values: Sequence[float]) -> list[str]:
    """Format numbers with five significant digits, without exponents in the usual range."""
    return [
        f"{value:.{max(0, 4 - math.floor(math.log10(abs(value))))}f}"
        if value and 1e-4 <= abs(value) < 1e9
        else f"{value:.4g}"
        for value in values
    ]


def _table(rows: list[list[str]], left: Sequence[int] = (0,)) -> list[str]:
    widths = [max(len(row[c]) for row in rows) for c in range(len(rows[0]))]
    return [
        " ".join(
            cell.ljust(width) if c in left else cell.rjust(width)
            for c, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]


def table_for_paper(fit: MixedModel, kind: str, digits: int) -> str:
    """Return the fixed effects as a table; see crosslmm.model.MixedModel.to_markdown."""
    linear = fit.family in LINEAR
    names = ["Effect", "Estimate", "SE", *(["df"] if fit.ddf else []), "t" if linear else "z"]
    rows = [[*names, *(["p"] if fit.ddf or not linear else [])]]
    for term, row in fit.fixed.iterrows():
        p = float(row.p if fit.ddf else 2 * ndtr(-abs(row.t)))
        cells = [f"{row.estimate:.{digits}f}", f"{row.se:.{digits}f}"]
        cells += [f"{row.df:.1f}"] if fit.ddf else []
        shown = "< .001" if p < 0.001 else f"{p:.3f}".removeprefix("0")
        rows.append([str(term), *cells, f"{row.t:.2f}", shown][: len(rows[0])])
    if kind == "markdown":
        lines = [" | ".join(cell.replace("|", "\\|") for cell in row) for row in rows]
        lines.insert(1, " | ".join(["---", *["---:"] * (len(rows[0]) - 1)]))
        return "\n".join(f"| {line} |" for line in lines)
    escaped = [[_tex(row[0]), *(f"${cell}$" for cell in row[1:])] for row in rows[1:]]
    lines = [" & ".join(row) + r" \\" for row in [rows[0], *escaped]]
    columns = "l" + "r" * (len(rows[0]) - 1)
    return "\n".join(
        [rf"\begin{{tabular}}{{{columns}}}", r"\hline", lines[0], r"\hline", *lines[1:], r"\hline"]
        + [r"\end{tabular}"]
    )


def _tex(text: str) -> str:
    """Escape LaTeX's special characters."""
    named = {"\\": r"\textbackslash{}", "^": r"\^{}", "~": r"\textasciitilde{}"}
    return "".join(named.get(c, f"\\{c}" if c in "&%$#_{}" else c) for c in text)
