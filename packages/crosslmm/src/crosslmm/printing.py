"""A fitted mixed model as R's summary() prints it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from crosslmm.diagnostics import standardised
from crosslmm.families import GAUSSIAN, GENERALISED, LINEAR, scales

if TYPE_CHECKING:
    from crosslmm.model import MixedModel


def printed(fit: MixedModel) -> str:
    """Return the text: criteria, residuals, random effects, fixed effects, their correlation."""
    method = "REML" if fit.reml else "maximum likelihood"
    is_linear = fit.family in LINEAR
    kind = "Linear mixed model" if is_linear else "Generalised linear mixed model"
    lines = [f"{kind} fit by {method}", f"Formula: {fit.formula}"]
    if not is_linear:
        lines[0] += " (Laplace)"
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
    for term, row in fit.fixed.iterrows():
        rows.append([str(term), *_figures([row.estimate, row.se]), f"{row.t:.3f}"])
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
