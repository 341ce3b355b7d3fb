"""Mixed models of a data frame by a formula, as R's lmer() fits them.

Diagnostic plots of a mixed model.

A fitted mixed model as R's summary() prints it.

Comparisons of the levels of a categorical column by the fixed effects of a fit.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri, stdtr

from crosslmm import design as designs
from crosslmm import families, lme4
from crosslmm.design import CODINGS, leaf_values
from crosslmm.errors import InputError, nearest
from crosslmm.expressions import variables
from crosslmm.families import GAUSSIAN, GENERALISED, LINEAR, SHIFTED, scales
from crosslmm.fit_formula import fit
from crosslmm.fitting import Result
from crosslmm.formula import INTERCEPT
from crosslmm.model_request import Prepared, Source, check_request, frame_of, predict, prepare
from crosslmm.summary import FitSummary
from crosslmm.term_tests import check_ddf, inference_of, tests_of_terms, with_ddf

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(repr=False)
class MixedModel:
    """A fitted mixed model; `print(fit.summary())` shows it as lme4 does.

    Tables are data frames, in the units of the response and of the original columns.
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
        return printed(with_ddf(self, ddf) if ddf else self)

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
        return tests_of_terms(self, type, ddf or self.ddf or "Satterthwaite")

    def predict(
        self, data: pd.DataFrame | None = None, *, random: bool = True, new_levels: str = "zero"
    ) -> pd.Series:
        """Predict the response for `data` (by default the fitted rows), by its index.

        Parameters
        ----------
        data : DataFrame
            Rows with the predictors' columns and, with `random`, the grouping ones.
        random : bool
            Whether conditional modes are added.
        new_levels : {"zero", "error"}
            Whether a level that the fit has not seen adds nothing, or is an error.

        Returns
        -------
        Series
            In the response's unit; probabilities for a binomial response.

        Raises
        ------
        InputError
            If a column that the prediction needs is absent or lacks a value, or a level is new.
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

        return intervals(self, parameters, method, level, draws, seed)

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
        return comparisons(self, column, kind)

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

        return simulate(self, n, seed, new_effects)

    def plot(self) -> Figure:
        """Plot residuals against fitted values, and quantiles of residuals and modes.

        Returns
        -------
        Figure
            Of matplotlib.
        """
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
        Of pandas, Polars or Arrow, with a row per observation and the formula's columns.
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
    options["quadrature"] = quadrature
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


KINDS = ("pairwise", *CODINGS)


def comparisons(fit: MixedModel, column: str, kind: str) -> pd.DataFrame:
    """Return a table of comparisons; see crosslmm.model.MixedModel.contrasts."""
    source = fit._source
    prepared = source.prepared or _read_formula(fit)
    fixed = {
        name for term in prepared.formula.fixed if term != INTERCEPT for name in variables(term)
    }
    rows = source.request.rows
    factors = {
        name: designs.categorical(rows[name]).names
        for name in rows.columns
        if name in fixed and not designs.is_number(rows[name])
    }
    if column not in factors:
        suggestion = nearest(column, factors) if factors else repr(column)
        raise InputError(f"contrasts: the fixed effects have no categorical column {suggestion}")
    if kind not in KINDS:
        raise InputError(f"contrasts: kind is {nearest(kind, KINDS)}")
    names = factors[column]
    labels, weights = _weights(names, kind)
    grid = _grid(rows, factors)
    X = _columns(fit, prepared, grid)
    level = grid[column].to_numpy()
    combinations = weights @ np.array([X[level == name].mean(0) for name in names])
    beta, covariance = fit.fixed["estimate"].to_numpy(), fit.covariance.to_numpy()
    figures = source.result.figures
    inference = inference_of(fit, fit.ddf) if fit.ddf else None
    if source.internal is not None and figures is not None:  # no rounding of columns far from zero
        factor = source.internal.factor
        inner = inference.covariance if inference else figures.covariance
        beta, covariance = factor * figures.beta, factor**2 * inner
    estimate = combinations @ beta
    covariance = combinations @ covariance @ combinations.T
    se = np.sqrt(np.diagonal(covariance))
    tests = {"z": estimate / se}
    p = 2 * ndtr(-np.abs(tests["z"]))
    if inference is not None:
        tests = {"df": np.array([*map(inference.df, combinations)]), "t": estimate / se}
        p = 2 * stdtr(tests["df"], -np.abs(tests["t"]))
    columns = {"estimate": estimate, "se": se, **tests, "p": p, "p_holm": _holm(p)}
    return pd.DataFrame(columns, labels)


def _read_formula(fit: MixedModel) -> Prepared:
    """Read the formula of a model that R fitted."""
    prepared = prepare(fit._source.request, with_response=False)
    if not set(fit.fixed.index) <= set(prepared.design.columns):
        raise InputError(f"contrasts: R names the columns of {fit.formula!r} otherwise")
    return prepared


def _grid(rows: pd.DataFrame, factors: dict[str, list[str]]) -> pd.DataFrame:
    """Return the combinations of all factors' levels, with numeric columns at their mean."""
    grid = pd.DataFrame(list(itertools.product(*factors.values())), columns=list(factors))
    data = {}
    for name in rows.columns:
        if name in factors:
            data[name] = pd.Categorical(grid[name], factors[name])
        elif designs.is_number(rows[name]):
            data[name] = np.full(len(grid), designs.numbers(rows[name]).mean())
    return pd.DataFrame(data)


def _columns(fit: MixedModel, prepared: Prepared, grid: pd.DataFrame) -> np.ndarray:
    """Return the fixed columns (rows, p) of the grid, on the internal scale if there is one."""
    source = fit._source
    figures = source.result.figures
    if source.internal is None or figures is None:
        values = designs.values_of(prepared.design, grid)
        return np.column_stack([values[term] for term in fit.fixed.index])
    basis = source.internal.fixed
    columns = basis.values(leaf_values(prepared.design, grid), len(grid))
    of_column = dict(zip(basis.kept, columns, strict=True))
    return np.column_stack([of_column[column] for column in figures.kept])


def _weights(names: list[str], kind: str) -> tuple[list[str], np.ndarray]:
    """Return the comparisons' labels, and their weights (comparisons, levels) of level means."""
    k, unit = len(names), np.eye(len(names))
    if kind == "pairwise":
        pairs = list(itertools.combinations(range(k), 2))
        labels = [f"{names[a]} - {names[b]}" for a, b in pairs]
        return labels, np.array([unit[a] - unit[b] for a, b in pairs])
    if kind == "sum":
        return [f"{name} - mean" for name in names], unit - 1 / k
    if kind == "treatment":
        labels = [f"{name} - {names[0]}" for name in names[1:]]
    elif kind == "helmert":
        labels = [f"{names[c]} - mean of {', '.join(names[:c])}" for c in range(1, k)]
        return labels, np.array([unit[c] - unit[:c].mean(0) for c in range(1, k)])
    else:
        labels = [f"{b} - {a}" for a, b in itertools.pairwise(names)]
    return labels, CODINGS[kind](names).comparisons()


def _holm(p: np.ndarray) -> np.ndarray:
    """Correct p values by Holm's method."""
    try:
        from statsmodels.stats.multitest import multipletests
    except ImportError:
        raise InputError("contrasts() needs statsmodels: pip install statsmodels") from None
    return np.asarray(multipletests(p, method="holm")[1])
