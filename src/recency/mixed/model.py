"""Mixed models of a data frame by a formula, as R's lmer() fits them."""

import math
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from recency.errors import InputError
from recency.mixed import design as designs
from recency.mixed import lme4, scaled_search
from recency.mixed.deviance import NoResiduals
from recency.mixed.expressions import Uncovered, variables
from recency.mixed.factors import NotSearchable
from recency.mixed.families import GAUSSIAN, GENERALISED
from recency.mixed.fitting import Result, alone, check_levels, confirmed, optimised, reported
from recency.mixed.lme4 import Refused
from recency.mixed.source import Prepared, Source, frame_in_r, frame_of, predict, prepare
from recency.mixed.summary import FitSummary
from recency.names import nearest

ENGINES = ("auto", "lme4", "search")


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
    """predictions with random effects for the rows that were fitted, by the data's index: means,
    so probabilities of a binomial response"""
    residuals: pd.Series
    theta: np.ndarray
    """the relative covariance factors' lower triangles, as lme4 lays them out"""
    sigma: float
    loglik: float
    """natural logarithm; the restricted one where `reml`"""
    aic: float
    bic: float
    nobs: int
    reml: bool
    engine: str
    """who fitted: `search` (without R), `search, confirmed by lme4`, or `lme4`"""
    converged: bool
    singular: bool
    family: str
    """gaussian, binomial or poisson"""
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


def lmer(
    formula: str,
    data: pd.DataFrame,
    *,
    engine: str = "auto",
    reml: bool = False,
    family: str = GAUSSIAN,
) -> MixedModel:
    """Fit a linear mixed model of the columns of `data` by maximum likelihood.

    `formula` is R's: `rt ~ length * cond + (1 + length | subject) + (1 | item)`. Numeric columns
    are taken as they are; columns of text, categories or true and false have treatment contrasts,
    the first level (of the categories, else of the alphabet) being the reference. Rows that lack a
    value in a column of the formula are dropped and counted in `note`.

    Engines: `auto` searches theta on cross-products and has lme4 confirm and report the fit; where
    the search does not cover the model lme4's own optimiser takes over, and `note` says so. `lme4`
    is that optimiser alone. `search` needs no R; it covers any grouping variables, nested or
    crossed (docs/mixed_models.md). `reml=True` fits by restricted
    maximum likelihood, which only lme4's optimiser does.

    `family` binomial (of 0 and 1, true and false, or text whose second level is the event) or
    poisson (of counts) is fitted by lme4's glmer() with its defaults: logit or log link, Laplace's
    approximation.

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
    if engine not in ENGINES:
        raise InputError(f"engine is {nearest(engine, ENGINES)}")
    if family not in (GAUSSIAN, *GENERALISED):
        raise InputError(f"family is {nearest(family, (GAUSSIAN, *GENERALISED))}")
    if family != GAUSSIAN and (reml or engine == "search"):
        what = "reml=True" if reml else 'engine="search"'
        raise InputError(
            f"{what} does not go with family {family!r}, which lme4's glmer() fits by ML"
        )
    if not isinstance(formula, str):
        raise InputError(f"formula is {formula!r} and must be text, as 'y ~ x + (1 | group)'")
    data = frame_of(data)
    rows, dropped = designs.rows_of(data, variables(formula), formula)
    notes = [f"{dropped} of {len(data)} rows lack a value and were dropped"] if dropped else []
    response = variables(formula.partition("~")[0])
    if family != GAUSSIAN:
        result = _generalised(formula, rows, family, notes)
        return _model("lme4", False, Source(formula, rows, response, None, result), family)
    prepared: Prepared | None = None
    uncovered = ""
    try:
        prepared = prepare(formula, rows)
        notes += designs.levels_notes(prepared.formula, rows)
    except Uncovered as reason:
        if engine == "search":
            raise InputError(f'{reason}; engine="lme4" has R read it') from None
        uncovered = str(reason)
    if engine == "search":
        result = _alone(formula, prepared, reml, notes)
    else:
        result = _with_r(formula, prepared, rows, engine, reml, notes, uncovered)
    if result.summary is None:
        raise InputError(f"formula {formula!r} was not fitted: {result.note}")
    if prepared is not None and not prepared.names(result.summary):
        prepared = None  # R names columns or groups otherwise: its own predict() knows them
    by = "search" if engine == "search" else "lme4"
    by = "search, confirmed by lme4" if by == "lme4" and result.optimum is not None else by
    return _model(by, reml, Source(formula, rows, response, prepared, result))


def _alone(text: str, prepared: Prepared, reml: bool, notes: list[str]) -> Result:
    """Fit without R."""
    if reml:
        raise InputError('reml=True is fitted by lme4 alone; leave engine="search" out')
    try:
        check_levels(prepared.design.formula, prepared.groups, len(prepared.y))
        return alone(_found(prepared), notes)
    except Refused as reason:
        raise InputError(f"formula {text!r}: {reason}") from None
    except NotSearchable as reason:
        raise InputError(
            f'formula {text!r}: {reason}; engine="lme4" fits it, which needs R'
        ) from None
    except NoResiduals as reason:
        return Result(None, False, str(reason))
    except np.linalg.LinAlgError as reason:
        return Result(None, False, f"its likelihood has no finite value ({reason})")


def _with_r(
    text: str,
    prepared: Prepared | None,
    rows: pd.DataFrame,
    engine: str,
    reml: bool,
    notes: list[str],
    uncovered: str,
) -> Result:
    """Fit with lme4: confirmed at the theta that was searched, or by its own optimiser."""
    try:
        frame = frame_in_r(rows, prepared and prepared.formula)
    except InputError as error:
        raise InputError(f'{error}; engine="search" needs no R') from None
    try:
        model, messages = lme4.set_up(text, frame, reml)
        notes = [*notes, *messages]
        if engine == "auto":
            try:
                if prepared is None or reml:
                    raise NotSearchable(uncovered or "the search knows no REML")
                return confirmed(model, _found(prepared), notes)
            except NoResiduals as reason:
                return Result(None, False, str(reason))
            except (NotSearchable, np.linalg.LinAlgError) as reason:
                notes.append(f"lme4's optimiser was used: {reason}")
        return optimised(model, notes)
    except lme4.Refused as reason:
        raise InputError(f"formula {text!r}: lme4: {reason}") from None


def _generalised(text: str, rows: pd.DataFrame, family: str, notes: list[str]) -> Result:
    """Fit with lme4's glmer()."""
    try:
        fit, messages = lme4.generalised(text, frame_in_r(rows, None), family)
        result = reported(fit, messages, notes)
    except lme4.Refused as reason:
        raise InputError(f"formula {text!r}: lme4: {reason}") from None
    if not result.summary.random:
        raise InputError(f"formula {text!r} has no random term such as '(1 | subject)'")
    return result


def _found(prepared: Prepared) -> scaled_search.ScaledSearch:
    with np.errstate(all="ignore"):  # a model without residuals ends in an error of its own
        return scaled_search.search_scaled(
            prepared.design.formula, prepared.columns, prepared.y, prepared.groups
        )


def _model(engine: str, reml: bool, source: Source, family: str = GAUSSIAN) -> MixedModel:
    """Lay a fit's figures out as tables."""
    result, rows = source.result, source.rows
    summary: FitSummary = result.summary
    terms = list(summary.fixed)
    estimates, se = np.array(list(summary.fixed.values())), np.array(summary.se)
    parameters = len(terms) + len(summary.theta) + (family == GAUSSIAN)
    index = rows.index
    if source.prepared is not None:
        fitted = predict(source, None, True, "zero").to_numpy()
        y = source.prepared.y
    else:
        fitted, y = lme4.fitted_of(result.model)
    return MixedModel(
        formula=source.text,
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
    if family == GAUSSIAN:
        rows.append(("Residual", "", summary.sigma**2, summary.sigma))
    return pd.DataFrame(rows, columns=["group", "term", "variance", "sd"])
