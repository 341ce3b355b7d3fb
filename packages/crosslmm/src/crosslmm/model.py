"""Mixed models of a data frame by a formula, as R's lmer() fits them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from crosslmm import lme4
from crosslmm.errors import InputError
from crosslmm.families import GAUSSIAN, GENERALISED, LINEAR, SHIFTED
from crosslmm.fit_formula import fit
from crosslmm.fitting import Result
from crosslmm.model_request import check_request
from crosslmm.source import Source, frame_of, predict
from crosslmm.summary import FitSummary

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(repr=False)
class MixedModel:
    """A fitted mixed model; `print(fit.summary())` shows it as lme4 does.

    Tables are data frames, in the units of the response and of the original columns.
    """

    formula: str
    fixed: pd.DataFrame
    """estimate, se and t of each fixed effect, on the scale of the link"""
    random: pd.DataFrame
    """group, term, variance and sd of each random effect; the last row is a gaussian residual's"""
    correlations: dict[str, pd.DataFrame]
    """of each group's random effects; NaN for an effect of variance 0"""
    modes: dict[str, pd.DataFrame]
    """the conditional modes of each group: a row per level, a column per term"""
    covariance: pd.DataFrame
    """of the fixed effects' estimates"""
    fitted: pd.Series
    """predictions with random effects for the fitted rows, by the data's index: means of the
    response in its own units, so probabilities for a binomial response"""
    residuals: pd.Series
    """the response minus its fitted mean"""
    theta: np.ndarray
    """the relative covariance factors' lower triangles, in lme4's order"""
    sigma: float
    loglik: float
    """natural logarithm, in units of the response for every family; restricted if `reml`"""
    aic: float
    bic: float
    npar: int
    """number of parameters: fixed effects, theta, and scale parameters such as sigma"""
    nobs: int
    reml: bool
    engine: str
    """`search` (without R), `search, confirmed by lme4`, `lme4`, or `laplace`"""
    converged: bool
    singular: bool
    family: str
    """gaussian, lognormal, shifted_lognormal, gamma, inverse_gaussian, exgaussian, binomial or
    poisson"""
    note: str
    """dropped rows or effects, fallbacks and lack of convergence; otherwise empty"""
    checks: pd.DataFrame
    """checks of the optimum by name: `by` whom, `value`, the largest `limit` that passes, `passed`;
    `converged` is false if one fails"""
    _source: Source = field(repr=False)

    def __repr__(self) -> str:
        return f"<MixedModel {self.formula}: {self.nobs} rows, logLik {self.loglik:.2f}>"

    def summary(self) -> str:
        """Return the text of R's printed summary."""
        from crosslmm.printing import printed

        return printed(self)

    def predict(
        self, data: pd.DataFrame | None = None, *, random: bool = True, new_levels: str = "zero"
    ) -> pd.Series:
        """Predict the response for `data` (by default the fitted rows), by its index.

        With `random`, conditional modes are added. A level that the fit has not seen adds nothing
        (`new_levels="zero"`) or raises an InputError (`new_levels="error"`). A missing value in a
        column that the prediction needs raises an InputError.
        """
        if new_levels not in ("zero", "error"):
            raise InputError(f"new_levels is {new_levels!r} and must be 'zero' or 'error'")
        return predict(self._source, data, random, new_levels)

    def confint(
        self,
        parameters: str | Sequence[str] = "all",
        *,
        method: str = "profile",
        level: float = 0.95,
        draws: int = 500,
        seed: int = 0,
    ) -> pd.DataFrame:
        """Return confidence intervals: a row per parameter, named as by lme4's `oldNames = FALSE`.

        Parameters
        ----------
        parameters
            `all`, `random` (standard deviations `sd_x|group`, correlations `cor_x.z|group`,
            `sigma`), `fixed`, or some names.
        method
            `profile` (likelihood), `wald` (fixed effects only; the others are NaN), or `boot`
            (percentiles of a parametric bootstrap).
        level
            Coverage.
        draws, seed
            Number of draws and seed of the bootstrap.

        Raises
        ------
        InputError
            If a name or method is unknown, or the level invalid.
        """
        from crosslmm.confidence import intervals

        return intervals(self, parameters, method, level, draws, seed)

    def contrasts(self, column: str, kind: str = "pairwise") -> pd.DataFrame:
        """Compare the levels of a categorical column: estimate, se, z, p and Holm-corrected p.

        As in emmeans, the means that the fixed effects predict are compared on the scale of the
        link, with numeric columns at their mean and other categorical columns weighted equally.
        `kind` is `pairwise`, or a coding whose coefficients are estimated: `treatment`, `sum`
        (every level against the mean of all), `helmert`, `backward_difference`.
        """
        from crosslmm.level_comparisons import comparisons

        return comparisons(self, column, kind)

    def simulate(self, n: int = 1, *, seed: int = 0, new_effects: bool = True) -> pd.DataFrame:
        """Simulate `n` responses of the fitted rows from the model, one per column.

        With `new_effects` random effects are drawn, too; otherwise they are at their modes.
        """
        from crosslmm.simulated import simulate

        return simulate(self, n, seed, new_effects)

    def plot(self) -> Figure:
        """Plot residuals against fitted values, and quantiles of residuals and modes."""
        from crosslmm.diagnostics import plot

        return plot(self)


def lmer(
    formula: str,
    data: pd.DataFrame,
    *,
    engine: str = "auto",
    reml: bool = False,
    family: str = GAUSSIAN,
    link: str | None = None,
    weights: str | None = None,
    offset: str | None = None,
    contrasts: Mapping[str, str] | None = None,
) -> MixedModel:
    """Fit a mixed model of the columns of `data` by maximum likelihood.

    `formula` is R's: `rt ~ length * cond + (1 + length | subject) + (1 | item)`. Numeric columns
    are not scaled. Columns of text, categories or booleans have treatment contrasts with the first
    level (of the categories, else alphabetically) as the reference, or the contrasts that
    `contrasts` names by column: `treatment`, `sum`, `helmert`, `backward_difference`. Rows that
    lack a value in a column of the formula are dropped and counted in `note`.

    `weights` and `offset` name columns: a row's residual variance is sigma squared divided by its
    weight, and the offset is added to the linear predictor.

    Engines: `auto` searches theta on cross-products and has lme4 confirm and report the fit. If the
    search does not cover the model, lme4's own optimiser is used, as `note` states. Without R,
    `auto` is `search`, and `note` states that lme4 did not confirm the fit. `lme4` always uses that
    optimiser. `search` needs no R; it covers any grouping variables, nested or crossed
    (docs/mixed_models.md). `reml=True` fits by restricted maximum likelihood, which only lme4's
    optimiser supports.

    A `family` binomial (0 and 1, booleans, or text whose second level is the event) or poisson
    (counts) is fitted by lme4's glmer() with its defaults: logit or log link, Laplace's
    approximation. Families lognormal and shifted_lognormal are linear models of log(y - shift),
    with the shift estimated by profile likelihood; gamma, inverse_gaussian (`link` log or identity)
    and exgaussian are fitted by Laplace's approximation here. The log-likelihood is in units of the
    response, so that families of one response can be compared by AIC.

    Raises InputError for an unknown column, a formula that cannot be read or that the engine does
    not cover, and data that no model fits.

    >>> import numpy as np, pandas as pd
    >>> random = np.random.default_rng(1)
    >>> data = pd.DataFrame({"subject": np.repeat(list("abcdefgh"), 10), "day": [*range(10)] * 8})
    >>> effect = np.repeat(random.normal(0, 30, 8), 10)
    >>> data["rt"] = 250 + 10 * data["day"] + effect + random.normal(0, 20, 80)
    >>> fit = lmer("rt ~ day + (1 | subject)", data, engine="search")
    >>> fit.fixed.round(1)
                 estimate   se     t
    (Intercept)     256.0  8.6  29.9
    day               9.5  0.7  14.1
    >>> round(fit.loglik, 2), fit.nobs, fit.converged
    (-353.11, 80, True)
    >>> fit.predict(pd.DataFrame({"subject": ["new"], "day": [4]})).round(1).tolist()
    [294.1]
    """
    options = {"engine": engine, "reml": reml, "family": family, "link": link}
    options |= {"weights": weights, "offset": offset, "contrasts": dict(contrasts or {})}
    model, notes = check_request(formula, frame_of(data), options)
    by, source = fit(model, notes)
    return _model(by, source)


def _model(engine: str, source: Source) -> MixedModel:
    """Arrange a fit's figures in tables."""
    result, family = source.result, source.request.family
    rows, reml = source.request.rows, source.request.reml
    summary = result.summary
    assert summary is not None, "fit() raises an InputError where there is none"
    terms = list(summary.fixed)
    estimates, se = np.array(list(summary.fixed.values())), np.array(summary.se)
    parameters = len(terms) + len(summary.theta) + (family in LINEAR) + (family == SHIFTED)
    parameters += len(source.scale)
    index = rows.index
    if source.prepared is not None:
        fitted = predict(source, None, True, "zero").to_numpy()
        y = source.prepared.y
        if family in GENERALISED:
            _, y = lme4.fitted_of(result.model)
    else:
        fitted, y = lme4.fitted_of(result.model)
        if family not in (GAUSSIAN, *GENERALISED):
            fitted, y = source.mean(fitted), np.exp(y)
    return MixedModel(
        formula=source.request.text,
        fixed=pd.DataFrame({"estimate": estimates, "se": se, "t": estimates / se}, index=terms),
        random=_variances(summary, family),
        correlations={
            group: pd.DataFrame(of["correlation"], of["columns"], of["columns"])
            for group, of in summary.random.items()
        },
        modes={
            group: pd.DataFrame.from_dict(
                modes, orient="index", columns=summary.random[group]["columns"]
            )
            for group, modes in summary.modes.items()
        },
        covariance=pd.DataFrame(summary.covariance, terms, terms),
        fitted=pd.Series(fitted, index, name="fitted"),
        residuals=pd.Series(y - fitted, index, name="residual"),
        theta=np.array(summary.theta),
        sigma=summary.sigma,
        loglik=summary.loglik,
        aic=2 * parameters - 2 * summary.loglik,
        bic=parameters * math.log(len(rows)) - 2 * summary.loglik,
        npar=parameters,
        nobs=len(rows),
        reml=reml,
        engine=engine,
        converged=result.converged,
        singular=summary.singular,
        family=family,
        note=result.note,
        checks=_checks(result),
        _source=source,
    )


def _variances(summary: FitSummary, family: str) -> pd.DataFrame:
    rows = [
        (group, term, sd**2, sd)
        for group, of in summary.random.items()
        for term, sd in zip(of["columns"], of["sd"], strict=True)
    ]
    if family in LINEAR:
        rows.append(("Residual", "", summary.sigma**2, summary.sigma))
    return pd.DataFrame(rows, columns=["group", "term", "variance", "sd"])


def _checks(result: Result) -> pd.DataFrame:
    rows = [(check.by, check.value, check.limit, check.passed) for check in result.checks]
    names = [check.name for check in result.checks]
    return pd.DataFrame(rows, names, ["by", "value", "limit", "passed"])
