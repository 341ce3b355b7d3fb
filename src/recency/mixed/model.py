"""Mixed models of a data frame by a formula, as R's lmer() fits them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from recency.errors import InputError
from recency.mixed import lme4
from recency.mixed.asked import asked
from recency.mixed.families import GAUSSIAN, GENERALISED, LINEAR, SHIFTED
from recency.mixed.fit_formula import fit
from recency.mixed.source import Source, frame_of, predict
from recency.mixed.summary import FitSummary

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(repr=False)
class MixedModel:
    """A fitted mixed model; `print(fit.summary())` shows it as lme4 does.

    Tables are pandas', in the units of the response and of the columns as they were given.
    """

    formula: str
    fixed: pd.DataFrame
    """estimate, se and t of each fixed effect; on the scale of the link where there is a family"""
    random: pd.DataFrame
    """group, term, variance and sd of each random effect; the last row is a gaussian residual's"""
    correlations: dict[str, pd.DataFrame]
    """of each group's random effects; NaN beside a variance of 0"""
    modes: dict[str, pd.DataFrame]
    """the conditional modes of each group: a row for each level, a column for each term"""
    covariance: pd.DataFrame
    """of the fixed effects' estimates"""
    fitted: pd.Series
    """predictions with random effects for the rows that were fitted, by the data's index: means of
    the response in its own units, so probabilities of a binomial response"""
    residuals: pd.Series
    """the response less its fitted mean"""
    theta: np.ndarray
    """the relative covariance factors' lower triangles, as lme4 lays them out"""
    sigma: float
    loglik: float
    """natural logarithm, in units of the response whatever the family; the restricted one where `reml`"""
    aic: float
    bic: float
    npar: int
    """number of parameters: fixed effects, theta, and scale parameters such as sigma"""
    nobs: int
    reml: bool
    engine: str
    """who fitted: `search` (without R), `search, confirmed by lme4`, `lme4`, or `laplace`"""
    converged: bool
    singular: bool
    family: str
    """gaussian, lognormal, shifted_lognormal, gamma, inverse_gaussian, exgaussian, binomial, poisson"""
    note: str
    """what was dropped, fell back or did not converge; empty where nothing was"""
    _source: Source = field(repr=False)

    def __repr__(self) -> str:
        return f"<MixedModel {self.formula}: {self.nobs} rows, logLik {self.loglik:.2f}>"

    def summary(self) -> str:
        """Return the text that R prints of a summary."""
        from recency.mixed.printing import printed

        return printed(self)

    def predict(
        self, data: pd.DataFrame | None = None, *, random: bool = True, new_levels: str = "zero"
    ) -> pd.Series:
        """Predict the response for `data` (the fitted rows without any), by its index.

        `random` adds the conditional modes. A level of a group that the fit has not seen adds
        nothing (`new_levels="zero"`) or is an InputError (`new_levels="error"`). A missing value in
        a column that the prediction needs is an InputError.
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
        """Return confidence intervals: a row for each parameter, named as by lme4's `oldNames = FALSE`.

        Parameters
        ----------
        parameters
            `all`, `random` (standard deviations `sd_x|group`, correlations `cor_x.z|group`,
            `sigma`), `fixed`, or names of some.
        method
            `profile` (of the likelihood), `wald` (fixed effects alone: the others are NaN), or
            `boot` (percentiles of a parametric bootstrap).
        level
            Coverage.
        draws, seed
            Of the bootstrap.

        Raises
        ------
        InputError
            A name, method or level that there is not.
        """
        from recency.mixed.confidence import intervals

        return intervals(self, parameters, method, level, draws, seed)

    def contrasts(self, column: str, kind: str = "pairwise") -> pd.DataFrame:
        """Compare the levels of a categorical column: estimate, se, z, p and p corrected by Holm.

        Compared are the means that the fixed effects predict, on the scale of the link, numeric
        columns being at their mean and other categorical ones weighted equally, as by emmeans.
        `kind` is `pairwise`, or a coding whose coefficients are estimated: `treatment`, `sum`
        (every level against the mean of all), `helmert`, `backward_difference`.
        """
        from recency.mixed.level_comparisons import comparisons

        return comparisons(self, column, kind)

    def simulate(self, n: int = 1, *, seed: int = 0, new_effects: bool = True) -> pd.DataFrame:
        """Draw `n` responses of the fitted rows from the model: a column for each.

        Random effects are drawn, too; without `new_effects` they are at their conditional modes.
        """
        from recency.mixed.simulated import simulate

        return simulate(self, n, seed, new_effects)

    def plot(self) -> Figure:
        """Return diagnostic plots: residuals against fitted values, quantiles of residuals and modes."""
        from recency.mixed.diagnostics import plot

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
    are taken as they are; columns of text, categories or true and false have treatment contrasts,
    the first level (of the categories, else of the alphabet) being the reference, or those that
    `contrasts` names by column: `treatment`, `sum`, `helmert`, `backward_difference`. Rows that lack
    a value in a column of the formula are dropped and counted in `note`.

    `weights` and `offset` name columns: the residual variance of a row is sigma squared by its
    weight, and the offset is added to the linear predictor.

    Engines: `auto` searches theta on cross-products and has lme4 confirm and report the fit; where
    the search does not cover the model lme4's own optimiser takes over, and `note` says so. Without
    R, `auto` is `search`, and `note` says that lme4 did not confirm it. `lme4`
    is that optimiser alone. `search` needs no R; it covers any grouping variables, nested or
    crossed (docs/mixed_models.md). `reml=True` fits by restricted
    maximum likelihood, which only lme4's optimiser does.

    A `family` binomial (of 0 and 1, true and false, or text whose second level is the event) or
    poisson (of counts) is fitted by lme4's glmer() with its defaults: logit or log link, Laplace's
    approximation. Families lognormal and shifted_lognormal are linear models of log(y - shift), the
    shift by profile likelihood; gamma, inverse_gaussian (`link` log or identity) and exgaussian are
    fitted by Laplace's approximation here. The log-likelihood is in units of the response, so that
    families of one response can be compared by AIC.

    Raises InputError: an unknown column, a formula that cannot be read or that the engine does not
    cover, data that no model fits.

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
    model, notes = asked(formula, frame_of(data), options)
    by, source = fit(model, notes)
    return _model(by, source)


def _model(engine: str, source: Source) -> MixedModel:
    """Lay a fit's figures out as tables."""
    result, family = source.result, source.asked.family
    rows, reml = source.asked.rows, source.asked.reml
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
    else:
        fitted, y = lme4.fitted_of(result.model)
        if family not in (GAUSSIAN, *GENERALISED):
            fitted, y = source.mean(fitted), np.exp(y)
    return MixedModel(
        formula=source.asked.text,
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
