"""Mixed models of a data frame by a formula, as R's lmer() fits them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from crosslmm import effects, lme4, report
from crosslmm.errors import InputError
from crosslmm.families import GAUSSIAN, GENERALISED, LINEAR, SHIFTED
from crosslmm.fit_formula import fit
from crosslmm.fitting import Result
from crosslmm.marginal_means import comparisons, marginal_means
from crosslmm.model_request import (
    Source,
    as_frame_of,
    check_request,
    frame_of,
    package_of,
    predict,
)
from crosslmm.summary import FitSummary
from crosslmm.term_tests import check_ddf, tests_of_terms, with_ddf

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(repr=False)
class MixedModel:
    """A fitted mixed model; `print(fit.summary())` shows it as lme4 does.

    Tables are data frames, in the units of the response and of the original columns. Attributes are
    frames of pandas; methods return frames of the package of the data (pandas, Polars or Arrow), whose first
    column has the labels.
    """

    formula: str
    fixed: pd.DataFrame
    """estimate, se and t of each fixed effect, on the scale of the link; with `ddf`, also df and p"""
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
    ddf: str | None = None
    """the method of the degrees of freedom and p values of `fixed`"""

    def __repr__(self) -> str:
        return f"<MixedModel {self.formula}: {self.nobs} rows, logLik {self.loglik:.2f}>"

    def _as_given(self, table: pd.DataFrame, index: str = "") -> pd.DataFrame:
        """Return a table as a frame of the data's package, with its index as a column `index`."""
        return as_frame_of(self._source.request.frames, table, index)

    def summary(self, ddf: str | None = None) -> str:
        """Return the text of R's printed summary.

        Parameters
        ----------
        ddf : {"Satterthwaite", "Kenward-Roger"}
            Method of degrees of freedom and p values; by default that of the fit.

        Returns
        -------
        str
            Formula, criteria, random effects, fixed effects with t or z, notes.
        """
        return report.printed(with_ddf(self, ddf) if ddf else self)

    def to_markdown(self, digits: int = 2) -> str:
        """Return the fixed effects as a table in Markdown, with p values where they are known.

        Parameters
        ----------
        digits : int
            Decimals of estimates and standard errors.

        Returns
        -------
        str
            Estimate, SE, t or z and, with `ddf`, df and p; p of a generalised model is Wald's.
        """
        return report.table_for_paper(self, "markdown", digits)

    def to_latex(self, digits: int = 2) -> str:
        """Return the table of `to_markdown` in LaTeX.

        Parameters
        ----------
        digits : int
            Decimals of estimates and standard errors.

        Returns
        -------
        str
        """
        return report.table_for_paper(self, "latex", digits)

    def r2(self) -> pd.Series:
        """Return the explained variance by Nakagawa & Schielzeth (2013) and Johnson (2014).

        Returns
        -------
        Series
            `marginal`, the share of the fixed effects in the variance of the linear predictor and the
            residual; `conditional`, that of fixed and random effects; `icc`, the share of random effects in
            the rest. The variance of slopes is averaged over rows. A binomial model's residual variance
            is that of the logistic distribution, a Poisson model's log(1 + 1 / mean count).
        """
        return effects.explained_variance(self)

    def standardised(self) -> pd.DataFrame:
        """Return the fixed effects per standard deviation of their column and of the response.

        Returns
        -------
        DataFrame
            A row per fixed effect: `estimate` and `se`, standardised.

        Notes
        -----
        Indicators and products are divided by their own standard deviation. The response's is that of its
        logarithm in lognormal models, and 1 in generalised ones.
        """
        return self._as_given(effects.standardised_effects(self), "term")

    def influence(self, group: str) -> pd.DataFrame:
        """Refit a linear model without each level of a grouping variable, on cross-products.

        Parameters
        ----------
        group : str
            Such as `subject`.

        Returns
        -------
        DataFrame
            A row per level: `cooks_distance`, with the covariance of all rows' fit, and each fixed effect's
            DFBETAS, its change in standard errors of the fit without the level; NaN where an effect
            cannot be estimated without it.
        """
        return self._as_given(effects.influence_of(self, group), group)

    def anova(self, *, type: int | str = 3, ddf: str | None = None) -> pd.DataFrame:
        """Test the terms of the fixed effects jointly, as lmerTest's anova() does.

        Parameters
        ----------
        type : {3, 2}
            III weights levels of other columns equally; II leaves out terms that contain the tested one.
        ddf : {"Satterthwaite", "Kenward-Roger"}
            By default that of the fit, else Satterthwaite's.

        Returns
        -------
        DataFrame
            A row per term: NumDF, DenDF, F, p.

        Raises
        ------
        InputError
            If the fit is not linear, or the method needs REML.
        """
        return self._as_given(
            tests_of_terms(self, type, ddf or self.ddf or "Satterthwaite"), "term"
        )

    def predict(
        self,
        data: pd.DataFrame | None = None,
        *,
        random: bool = True,
        new_levels: str = "zero",
        interval: str | None = None,
        level: float = 0.95,
    ) -> pd.Series | pd.DataFrame:
        """Predict the response for `data` (by default the fitted rows), by its index.

        Parameters
        ----------
        data : DataFrame
            Rows with the predictors' columns and, with `random`, the grouping ones.
        random : bool
            Whether conditional modes are added.
        new_levels : {"zero", "error"}
            Whether a level that the fit has not seen adds nothing, or is an error.
        interval : {"confidence", "prediction"}
            With `random=False`: of the mean for an average level, or of a new row of new levels. Both
            are given theta; with the fit's `ddf`, by t.
        level : float
            Coverage.

        Returns
        -------
        Series
            In the response's unit; probabilities for a binomial response. With `interval`, a data frame:
            predicted, low, high.

        Raises
        ------
        InputError
            If a column that the prediction needs is absent or lacks a value, or a level is new.
        """
        if new_levels not in ("zero", "error"):
            raise InputError(f"new_levels is {new_levels!r} and must be 'zero' or 'error'")
        package = self._source.request.frames if data is None else package_of(data)
        data = None if data is None else frame_of(data)
        predicted = predict(self._source, data, random, new_levels)
        if interval is None:
            return as_frame_of(package, predicted)
        if random:
            raise InputError("predict(interval=…) needs random=False")
        table = effects.prediction_intervals(self, data, predicted, interval, level)
        return as_frame_of(package, table)

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
            `profile` (likelihood), `wald` (fixed effects only, by t with the fit's `ddf`; the others
            are NaN), or `boot` (percentiles of a parametric bootstrap).
        level
            Coverage.
        draws, seed
            Number of draws and seed of the bootstrap.

        Returns
        -------
        DataFrame
            A row per parameter: low, high.

        Raises
        ------
        InputError
            If a name or method is unknown, or the level invalid.
        """
        from crosslmm.confidence import intervals

        return self._as_given(intervals(self, parameters, method, level, draws, seed), "parameter")

    def contrasts(self, column: str, kind: str = "pairwise") -> pd.DataFrame:
        """Compare the levels of a categorical column: estimate, se, z, p and Holm-corrected p.

        A fit with `ddf` has df and t in place of z.

        As in emmeans, the means that the fixed effects predict are compared on the scale of the
        link, with numeric columns at their mean and other categorical columns weighted equally.

        Parameters
        ----------
        column : str
            A categorical column of the formula.
        kind : str
            `pairwise`, or a coding whose coefficients are estimated: `treatment`, `sum` (every level
            against the mean of all), `helmert`, `backward_difference`.

        Returns
        -------
        DataFrame
            A row per contrast.

        Raises
        ------
        InputError
            If the column is not categorical, or the kind unknown.
        """
        return self._as_given(comparisons(self, column, kind), "contrast")

    def means(self, *columns: str, level: float = 0.95) -> pd.DataFrame:
        """Return the means that the fixed effects predict for levels of categorical columns.

        As in emmeans: other columns as in `contrasts`, on the scale of the link.

        Parameters
        ----------
        *columns : str
            One column, or several, whose combinations of levels have a row each.
        level : float
            Coverage of the limits, by t with the fit's `ddf`.

        Returns
        -------
        DataFrame
            estimate, se, df with `ddf`, low, high; for families that are not linear, also `response`.
        """
        return self._as_given(marginal_means(self, columns, level), "level")

    def simulate(self, n: int = 1, *, seed: int = 0, new_effects: bool = True) -> pd.DataFrame:
        """Simulate `n` responses of the fitted rows from the model, one per column.

        Parameters
        ----------
        n : int
            Number of responses.
        seed : int
            Of the draws.
        new_effects : bool
            Whether random effects are drawn, too; otherwise they are at their modes.

        Returns
        -------
        DataFrame
            A row per fitted row, a column per response.
        """
        from crosslmm.confidence import simulate

        return self._as_given(simulate(self, n, seed, new_effects))

    def plot(self) -> Figure:
        """Plot residuals against fitted values, and quantiles of residuals and modes.

        A random effect whose variance is 0 has no modes to plot.

        Returns
        -------
        Figure
            Of matplotlib.
        """
        return report.plot(self)


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
    ddf: str | None = None,
    quadrature: int = 1,
) -> MixedModel:
    """Fit a mixed model by maximum likelihood, or by restricted maximum likelihood.

    Rows that lack a value in a column of the formula are dropped and counted in `note`.

    Parameters
    ----------
    formula : str
        R's: `rt ~ length * cond + (1 + length | subject) + (1 | item)`. Numeric columns are not scaled.
        Columns of text, categories or booleans have treatment contrasts with the first level (of the
        categories, else alphabetically) as the reference.
    data : DataFrame
        Of pandas, Polars or Arrow, with a row per observation and the formula's columns; methods of
        the fit return frames of the same package.
    engine : {"auto", "search", "lme4"}
        `auto` searches theta on cross-products and has lme4 confirm and report the fit. If the search does
        not cover the model, lme4's own optimiser is used, as `note` states; without R, `auto` is `search`,
        and `note` states that lme4 did not confirm the fit. `search` needs no R; it covers any grouping
        variables, nested or crossed (docs/mixed_models.md).
    reml : bool
        Fit by restricted maximum likelihood.
    family : str
        gaussian; binomial (0 and 1, booleans, or text whose first level is no event; with `weights`, shares
        of that many trials) or poisson (counts), with logit or log link; gamma, inverse_gaussian or
        exgaussian; lognormal or shifted_lognormal, linear models of log(y - shift), with the shift estimated
        by profile likelihood. Others than linear models are fitted by Laplace's approximation. The
        log-likelihood is in units of the response, so that families of one response can be compared by AIC.
    link : {"log", "identity"}
        Of gamma and inverse_gaussian.
    weights : str
        Column of weights: a row's residual variance is sigma squared divided by its weight.
    offset : str
        Column that is added to the linear predictor.
    contrasts : mapping
        Column → its contrasts: `treatment`, `sum`, `helmert`, `backward_difference`.
    ddf : {"Satterthwaite", "Kenward-Roger"}
        Method of the degrees of freedom and p values of the fixed effects of a linear model, as in
        lmerTest. Kenward-Roger needs `reml=True` and adjusts the standard errors.
    quadrature : int
        Number of points of adaptive Gauss-Hermite quadrature for each level, in place of Laplace's
        approximation: glmer's `nAGQ`, of binomial and Poisson models with a single random effect.

    Returns
    -------
    MixedModel
        The fit; `print(fit.summary())` shows it as lme4 does.

    Raises
    ------
    InputError
        If a column is unknown, the formula cannot be read or is not covered by the engine, or no model fits
        the data.

    Examples
    --------
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
    options |= {"quadrature": quadrature, "frames": package_of(data)}
    model, notes = check_request(formula, frame_of(data), options)
    if ddf is not None:
        check_ddf(ddf, family, reml)
    by, source = fit(model, notes)
    return with_ddf(_model(by, source), ddf) if ddf else _model(by, source)


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
