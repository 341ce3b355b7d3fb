"""Fit one mixed model on the internal scale: by the search, confirmed by lme4, or by lme4 alone.

The distance between two engines' figures of one model at one theta.

Models on the internal scale in R: lme4's figures at a given theta, or at its own optimum.

Ordinary least squares with AIC and BIC: the model without random effects.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from crosslmm import lme4
from crosslmm.deviance import NoResiduals
from crosslmm.factors import Levels, NotSearchable, joined
from crosslmm.families import GAUSSIAN, LINEAR, SHIFTED
from crosslmm.formula import Formula, column
from crosslmm.internal import Figures, Internal, as_given, in_given_units
from crosslmm.lme4 import Refused
from crosslmm.referee import (
    CLOSE,
    DEVIANCES,
    Check,
    check_covariance,
    check_derivatives,
    check_lme4,
    check_search,
    deviances_apart,
    failures,
)
from crosslmm.scaled_search import Searched, search_internal
from crosslmm.standardised import Basis
from crosslmm.summary import FitSummary
from crosslmm.theta_search import Optimum


def distance(ours: Figures, theirs: Figures) -> float | None:
    """Return the largest standardised difference between two sets of figures at one theta.

    Fixed effects are compared in standard errors, standard errors and the random effects' sds as
    ratios, conditional modes in sds of their column, log-likelihoods in nats. None if different
    columns were dropped, so that no comparison is possible.
    """
    if ours.kept != theirs.kept:
        return None
    se = np.sqrt(np.diagonal(theirs.covariance))
    differences = [
        np.array([ours.loglik - theirs.loglik, ours.sigma / theirs.sigma - 1]),
        (ours.beta - theirs.beta) / se,
        np.sqrt(np.diagonal(ours.covariance)) / se - 1,
    ]
    for L, modes, other, its in zip(ours.Ls, ours.modes, theirs.Ls, theirs.modes, strict=True):
        sd = theirs.sigma * np.sqrt((other**2).sum(1))
        scale = np.maximum(sd, 1e-3 * theirs.sigma)
        differences.append((ours.sigma * np.sqrt((L**2).sum(1)) - sd) / scale)
        differences.append(np.abs((modes - its) / scale).max(0))
    return float(max(np.abs(part).max() for part in differences if len(part)))


RESPONSE, WEIGHTS = ".y", ".w"
FIXED, RANDOM = ".x", ".z"


@dataclass
class InR:
    """A model of which R has the formula and the data frame."""

    model: Internal
    text: str
    frame: Any
    weights: str | None
    of_terms: dict[frozenset[str], int]
    """the number of each random term by its columns in R"""

    def set_up(self) -> tuple[Any, list[str]]:
        """Set up lme4's modular model; return it and its messages."""
        return lme4.set_up(self.text, self.frame, self.model.reml, self.weights)

    def set_up_terms(self, searched: Searched) -> Any | None:
        """Set up the model that was searched without lme4's own product of Z; None if it cannot be.

        Models that lme4 might refuse or warn of are left to `set_up`.
        """
        model, n = self.model, len(self.model.y)
        if model.reml or model.weights is not None:
            return None
        if len(searched.kept) < len(model.formula.fixed):
            return None
        rows = []
        for group, basis in zip(model.scale.groups, model.scale.random, strict=True):
            levels = joined(group, model.groups)
            first = np.full(len(levels.names), -1)
            first[levels.codes[::-1]] = np.arange(n)[::-1]
            if len(first) < 2 or len(first) * len(basis.columns) >= n or first.min() < 0:
                return None
            rows.append(first)
        return lme4.set_up_terms(self.text, self.frame, np.unique(np.concatenate(rows)))

    def theta(self, in_r: Any, Ls: list[np.ndarray]) -> np.ndarray:
        """Return theta in lme4's order from L (k, k) of each random term."""
        parts = []
        for _, columns in lme4.terms(in_r):
            L = Ls[self.of_terms[frozenset(columns)]]
            parts.append(L.T[np.triu_indices(len(L))])
        return np.concatenate(parts)

    def figures(self, fit: Any) -> Figures:
        """Read a merMod object; its figures are arranged by this model's columns and terms."""
        model, summary, terms = self.model, lme4.summary_of(fit), lme4.terms_of_fit(fit)
        Ls: list[np.ndarray] = [np.zeros((0, 0))] * len(self.of_terms)
        modes = list(Ls)
        start = 0
        for group, columns in terms:
            term, k = self.of_terms[frozenset(columns)], len(columns)
            end = start + k * (k + 1) // 2
            L = np.zeros((k, k))
            L.T[np.triu_indices(k)] = summary.theta[start:end]
            Ls[term], start = L, end
            places = [summary.random[group]["columns"].index(c) for c in columns]
            names = joined(model.scale.groups[term], model.groups).names
            by_level = summary.modes[group]
            modes[term] = np.array([by_level[name] for name in names])[:, places]
        places = [int(name.removeprefix(FIXED)) for name in summary.fixed]
        given = model.scale.fixed.kept
        return Figures(
            beta=np.array(list(summary.fixed.values())),
            covariance=summary.covariance,
            sigma=summary.sigma,
            loglik=summary.loglik,
            Ls=Ls,
            modes=modes,
            singular=summary.singular,
            converged=summary.converged,
            kept=tuple(given[place] for place in places),
            messages=summary.messages,
        )


def in_r(model: Internal) -> InR:
    """Build R's formula and data frame, with short names for the columns."""
    n = len(model.y)
    frame: dict[str, np.ndarray | Levels] = {}
    frame[RESPONSE] = model.y
    fixed = []
    for number, name in enumerate(model.formula.fixed):
        fixed.append(f"{FIXED}{number}")
        frame[fixed[-1]] = column(name, model.predictors, n)
    terms, of_terms = [], {}
    for term in model.formula.random:
        group = term.group.replace("`", "")
        if group not in frame:
            frame[group] = joined(term.group, model.groups)
        parts = [term.columns] if term.correlated else [(single,) for single in term.columns]
        for part in parts:
            number = len(of_terms)
            names = [f"{RANDOM}{number}.{c}" for c in range(len(part))]
            frame |= {
                name: column(label, model.predictors, n)
                for name, label in zip(names, part, strict=True)
            }
            of_terms[frozenset(names)] = number
            terms.append(f"(0 + {' + '.join(names)} | `{group}`)")
    if model.weights is not None:
        frame[WEIGHTS] = model.weights
    text = f"{RESPONSE} ~ " + " + ".join(["0", *fixed, *terms])
    weights = WEIGHTS if model.weights is not None else None
    return InR(model, text, lme4.data_frame(frame), weights, of_terms)


@dataclass
class Result:
    """A fitted model, or the reason why there is none."""

    summary: FitSummary | None
    converged: bool
    note: str
    model: Any = None
    """the merMod object in R, on the internal scale if `figures` are there"""
    optimum: Optimum | None = None
    """of the search, on the internal scale, if its theta is reported"""
    by: str = "lme4"
    """source of the figures: `lme4`, `search`, or another engine"""
    difference: float | None = None
    """`distance` of the search's figures from lme4's, if both were computed"""
    checks: list[Check] = field(default_factory=list)
    figures: Figures | None = None
    """the figures on the internal scale"""


def fit_model(
    formula: Formula,
    predictors: Mapping[str, np.ndarray],
    y: np.ndarray,
    groups: Mapping[str, Levels],
    engine: str,
    confirm: bool = True,
) -> Result:
    """Fit by maximum likelihood; `engine` is `cross_products` or `lme4`.

    With `confirm`, lme4 sets up the model that was searched on cross-products, evaluates its deviance
    at theta and reports the figures. Without it they are computed here, and R is started only if the
    search does not cover the model.

    `predictors` and `y` have one element per observation, and predictors are centred and scaled. A
    model that cannot be fitted is a Result without a summary, with the reason in its note.
    """
    used = {name: predictors[name] for name in formula.predictors}
    model = as_given(formula, used, y, groups)
    searched, notes = None, []
    if engine == "cross_products":
        try:
            if not confirm:
                check_levels(formula, groups, len(y))
            searched = _timed_search(model)
            if not confirm:
                return unconfirmed(searched)
        except (Refused, NoResiduals) as reason:
            return Result(None, False, str(reason))
        except (NotSearchable, np.linalg.LinAlgError) as reason:
            notes.append(f"lme4's optimiser was used: {reason}")
    try:
        return fit_in_r(in_r(model), searched, notes)
    except Refused as reason:
        return Result(None, False, "; ".join([*notes, f"lme4: {reason}"]))


def check_levels(formula: Formula, groups: Mapping[str, Levels], n: int) -> None:
    """Raise Refused, as lme4 would, if a grouping variable has too few or too many levels."""
    for term in formula.random:
        levels = len(joined(term.group, groups).names)
        if levels < 2 or levels * len(term.columns) >= n:
            raise Refused(
                f"{term.group} has {levels} levels, with {len(term.columns)} random effects each, "
                f"in {n} rows; there must be two levels, and fewer effects than rows"
            )


def unconfirmed(searched: Searched, notes: Sequence[str] = ()) -> Result:
    """Report a search's own figures, without lme4."""
    figures = searched.figures
    notes = [*notes, *dropped_notes(searched.model.scale.fixed, figures.kept)]
    checks = [*check_search(searched), *check_covariance(figures.covariance, "search")]
    return _result(searched.model, figures, notes, checks, "search", searched.result.optimum)


def dropped_notes(fixed: Basis, kept: Sequence[int]) -> list[str]:
    """Name the fixed effects that depend on others."""
    dropped = [name for c, name in enumerate(fixed.columns) if c not in kept]
    what = "fixed effects that depend on others were dropped"
    return [f"{what}: {', '.join(dropped)}"] if dropped else []


def fit_in_r(of_r: InR, searched: Searched | None, notes: Sequence[str]) -> Result:
    """Have lme4 confirm a searched optimum, or fit by its own optimiser."""
    if searched is not None:
        return confirm_by_lme4(of_r, searched, notes)
    set_up, messages = of_r.set_up()
    notes = [*notes, *messages]
    fit, messages = lme4.optimise(set_up)
    figures = of_r.figures(fit)
    checks = check_lme4(of_r.model, fit, figures, by_search=True)
    notes += dict.fromkeys([*messages, *figures.messages])
    return _result(of_r.model, figures, notes, checks, "lme4", fit=fit)


def read_fit(fit: Any, messages: Sequence[str], notes: Sequence[str] = ()) -> Result:
    """Read a merMod object of a formula that R read, on the given scale."""
    summary = lme4.summary_of(fit)
    checks = [*check_derivatives(fit), *check_covariance(summary.covariance, "lme4")]
    notes = [
        *notes,
        "columns were not centred and scaled, as R alone reads the formula",
        *dict.fromkeys([*messages, *summary.messages]),
        *failures(checks),
    ]
    converged = summary.converged and all(check.passed for check in checks)
    return Result(summary, converged, "; ".join(notes), fit, checks=checks)


def confirm_by_lme4(of_r: InR, searched: Searched, notes: Sequence[str]) -> Result:
    """Have lme4 confirm the deviance at the search's optimum, and build its merMod object there.

    The search's own figures are compared with lme4's, since unconfirmed fits report them. If the
    deviances differ, lme4 sets up the model by itself, its optimiser runs as well, and the better of
    the two optima is reported.
    """
    quick = of_r.set_up_terms(searched)
    if quick is not None:
        result, _, apart = _evaluate_there(of_r, quick, searched, notes)
        if apart <= DEVIANCES:
            return result
    set_up, messages = of_r.set_up()
    notes = [*notes, *messages]
    result, value, apart = _evaluate_there(of_r, set_up, searched, notes)
    if apart <= DEVIANCES:
        return result
    model, ours, figures = of_r.model, searched.figures, of_r.figures(result.model)
    other, messages = lme4.optimise(set_up)
    theirs = of_r.figures(other)
    extra = model.scale.log_jacobian(len(model.y), model.reml)
    logliks = [extra + loglik for loglik in (ours.loglik, -value / 2, theirs.loglik)]
    notes = [
        *notes,
        "lme4 does not confirm the search: the log-likelihood at its optimum is {:.6f} by the search "
        "and {:.6f} by lme4, and {:.6f} where lme4's optimiser ends".format(*logliks),
    ]
    if theirs.loglik > figures.loglik:
        notes += ["lme4's optimiser was used", *dict.fromkeys([*messages, *theirs.messages])]
        return _result(
            model,
            theirs,
            notes,
            check_lme4(model, other, theirs, by_search=False),
            "lme4",
            fit=other,
        )
    notes.append("lme4's figures at the search's optimum are reported, which is the better one")
    optimum = searched.result.optimum
    return _result(model, figures, notes, result.checks, "lme4", optimum, result.model)


def _evaluate_there(
    of_r: InR, set_up: Any, searched: Searched, notes: Sequence[str]
) -> tuple[Result, float, float]:
    """Return lme4's figures at the search's optimum, its deviance, and the deviances' difference."""
    model, ours = of_r.model, searched.figures
    theta = of_r.theta(set_up, searched.Ls)
    evaluation, value = lme4.evaluate(set_up, theta)
    fit = lme4.make_at(set_up, evaluation, theta)
    figures = of_r.figures(fit)
    difference = distance(ours, figures)
    apart = deviances_apart(value, searched.deviance, len(model.y))
    checks = [
        *check_search(searched),
        Check("deviance", "lme4", apart, DEVIANCES),
        *([] if difference is None else [Check("figures", "lme4", difference, CLOSE)]),
        *check_covariance(figures.covariance, "lme4"),
    ]
    figures.converged = ours.converged
    result = _result(model, figures, notes, checks, "lme4", searched.result.optimum, fit)
    result.difference = difference
    return result, value, apart


def _result(
    model: Internal,
    figures: Figures,
    notes: Sequence[str],
    checks: list[Check],
    by: str,
    optimum: Optimum | None = None,
    fit: Any = None,
) -> Result:
    """Return the figures in the given units, with notes on the optimum."""
    summary = in_given_units(model.scale, figures, model.groups, model.reml, len(model.y))
    if optimum and optimum.singular:
        notes = [*notes, "singular fit: a variance or a correlation is at its limit"]
    notes = [*notes, *failures(checks)]
    converged = figures.converged and all(check.passed for check in checks)
    return Result(
        summary, converged, "; ".join(notes), fit, optimum, by, checks=checks, figures=figures
    )


def _timed_search(model: Internal) -> Searched:
    """Search theta, and print its course in the job's log."""
    started = time.perf_counter()
    searched = search_internal(model)
    optimum = searched.result.optimum
    print(
        f"theta: {optimum.evaluations} evaluations, {time.perf_counter() - started:.2f} s, "
        f"deviance {optimum.deviance!r}, a step would gain {optimum.gain:.1e}",
        file=sys.stderr,
    )
    return searched


def figures(result: Result) -> dict[str, Any]:
    """Return the record of a fit for JSON and predictions; without a summary it is empty."""
    summary = result.summary
    if summary is None:
        summary = FitSummary(
            {}, [], [], math.nan, math.nan, False, {}, {}, [], False, np.empty((0, 0))
        )
    return {
        "converged": result.converged,
        "figures_by": result.by,
        **({} if result.difference is None else {"difference_from_lme4": result.difference}),
        **({"checks": [vars(check) for check in result.checks]} if result.checks else {}),
        "singular": summary.singular,
        "note": result.note,
        "fixed": [
            {"term": term, "estimate": estimate, "se": se}
            for (term, estimate), se in zip(summary.fixed.items(), summary.se, strict=True)
        ],
        "covariance": summary.covariance.tolist(),
        "theta": summary.theta,
        "random": {
            group: {
                "terms": spread["columns"],
                "sd": spread["sd"],
                "correlation": spread["correlation"].tolist(),
            }
            for group, spread in summary.random.items()
        },
        "sigma": summary.sigma,
        "ranef": summary.modes,
    }


def fit_least_squares(
    formula: Formula, predictors: Mapping[str, np.ndarray], y: np.ndarray
) -> tuple[FitSummary, list[str]]:
    """Fit y (n,) and return the summary, with sigma by maximum likelihood, and notes.

    Standard errors have n - p degrees of freedom. A column that depends on earlier ones is dropped,
    as in R.
    """
    n = len(y)
    names: list[str] = []
    basis = np.empty((n, 0))
    for name in formula.fixed:
        values = column(name, predictors, n)
        left = values
        for _ in range(2):  # twice, against rounding errors
            left = left - basis @ (basis.T @ left)
        size = np.linalg.norm(left)
        if size > 1e-7 * max(np.linalg.norm(values), np.finfo(float).tiny) and len(names) < n:
            names.append(name)
            basis = np.column_stack([basis, left / size])
    dropped = len(formula.fixed) - len(names)
    notes = [f"{dropped} of the columns depend on others and were dropped"] if dropped else []
    X = np.column_stack([column(name, predictors, n) for name in names])
    R = basis.T @ X
    estimates = np.linalg.solve(R, basis.T @ y)
    rss = float(np.sum((y - X @ estimates) ** 2))
    free = n - len(names)
    inverse = np.linalg.inv(R)
    se = np.sqrt((inverse**2).sum(1) * rss / free) if free else np.full(len(names), math.nan)
    sigma = math.sqrt(rss / n)
    fitted = free > 0 and sigma > 0
    if not fitted:
        notes.append(f"not fitted: {n} words for {len(names)} columns, residual sd {sigma:.3g}")
    summary = FitSummary(
        fixed=dict(zip(names, map(float, estimates), strict=True)),
        se=[float(value) for value in se],
        theta=[],
        sigma=sigma,
        loglik=-n / 2 * (math.log(2 * math.pi * sigma**2) + 1) if fitted else math.nan,
        singular=False,
        random={},
        modes={},
        messages=[],
        converged=fitted,
        covariance=inverse @ inverse.T * rss / free if free else np.full(R.shape, math.nan),
    )
    return summary, notes


def criteria(summary: FitSummary, n: int, family: str = GAUSSIAN) -> dict[str, float]:
    """Return AIC and BIC of a maximum-likelihood fit to n rows, counting parameters as R does.

    The parameters are the fixed effects, theta of a mixed model, sigma of a linear one, and the
    shift of a shifted lognormal one.
    """
    k = len(summary.fixed) + len(summary.theta) + (family in LINEAR) + (family == SHIFTED)
    return {"aic": 2 * k - 2 * summary.loglik, "bic": k * math.log(n) - 2 * summary.loglik}
