"""Fit one mixed model: theta searched on cross-products, figures by lme4 or computed here."""

import math
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from recency.mixed import lme4
from recency.mixed.deviance import NoResiduals
from recency.mixed.factors import Factor, NotSearchable
from recency.mixed.families import GAUSSIAN
from recency.mixed.formula import Formula, factors
from recency.mixed.levels import Levels, joined
from recency.mixed.lme4 import Refused
from recency.mixed.scaled_search import ScaledSearch, SearchResult, search_theta, unscaled_search
from recency.mixed.search_summary import distance, summary_of
from recency.mixed.summary import FitSummary
from recency.mixed.theta_search import Optimum

AGREEMENT = 1e-6
"""Largest relative difference between the search's deviance and lme4's at the same theta."""
CLOSE = 1e-5
"""Largest difference, in standard errors, between the search's figures and lme4's at one theta."""


@dataclass
class Result:
    """A fitted model, or the reason why there is none; `model` is the merMod object in R."""

    summary: FitSummary | None
    converged: bool
    note: str
    model: Any = None
    optimum: Optimum | None = None
    by: str = "lme4"
    """source of the figures: `lme4`, `search`, or another engine"""
    difference: float | None = None
    """`distance` of the search's figures from lme4's, if both were computed"""


def fit_model(
    formula: Formula,
    predictors: Mapping[str, np.ndarray],
    y: np.ndarray,
    groups: Mapping[str, Levels],
    engine: str,
    family: str = GAUSSIAN,
    confirm: bool = True,
) -> Result:
    """Fit by maximum likelihood; `engine` is `cross_products` or `lme4`.

    A `family` other than gaussian is fitted by lme4's glmer(), whatever the engine. With `confirm`,
    lme4 sets up the model that was searched on cross-products, evaluates its deviance at theta and
    reports the figures. Without it they are computed here, and R is started only if the search does
    not cover the model.

    `predictors` and `y` have one element per observation. A model that cannot be fitted is a Result
    without a summary, with the reason in its note.
    """
    used = {name: predictors[name] for name in formula.predictors}
    result, notes = None, []
    if engine == "cross_products" and family == GAUSSIAN:
        try:
            if not confirm:
                check_levels(formula, groups, len(y))
            result = _timed_search(formula, used, y, groups)
            if not confirm:
                return unconfirmed(unscaled_search(formula, result, groups, float(y.mean())))
        except (Refused, NoResiduals) as reason:
            return Result(None, False, str(reason))
        except (NotSearchable, np.linalg.LinAlgError) as reason:
            notes.append(f"lme4's optimiser was used: {reason}")
    try:
        columns = used | {name: groups[name] for name in formula.groups}
        columns = {name.strip("`"): values for name, values in columns.items()}
        data = lme4.data_frame({formula.response: y, **columns})
        if family != GAUSSIAN:
            fit, messages = lme4.generalised(str(formula), data, family)
            return read_fit(fit, messages)
        model, messages = lme4.set_up(str(formula), data)
        notes += messages
        if result is not None:
            try:
                return confirm_by_lme4(
                    model, unscaled_search(formula, result, groups, float(y.mean())), notes
                )
            except (NotSearchable, np.linalg.LinAlgError) as reason:
                notes.append(f"lme4's optimiser was used: {reason}")
        return fit_by_lme4(model, notes)
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


def unconfirmed(searched: ScaledSearch, notes: Sequence[str] = ()) -> Result:
    """Report a search's own figures, without lme4."""
    summary, dropped = summary_of(searched)
    if dropped:
        notes = [*notes, f"fixed effects that depend on others were dropped: {', '.join(dropped)}"]
    optimum = searched.in_original_units().optimum
    notes = [*notes, *search_notes(optimum)]
    return Result(summary, summary.converged, "; ".join(notes), None, optimum, by="search")


def fit_by_lme4(model: Any, notes: Sequence[str]) -> Result:
    """Fit a model that lme4 has set up by lme4's own optimiser."""
    fit, messages = lme4.optimise(model)
    return read_fit(fit, messages, notes)


def read_fit(fit: Any, messages: Sequence[str], notes: Sequence[str] = ()) -> Result:
    """Read a merMod object at which lme4's optimiser ended."""
    summary = lme4.summary_of(fit)
    notes = [*notes, *dict.fromkeys([*messages, *summary.messages])]
    return Result(summary, summary.converged, "; ".join(notes), fit)


def _timed_search(*arguments: Any) -> SearchResult:
    """Search theta, and print its course in the job's log."""
    started = time.perf_counter()
    result = search_theta(*arguments)
    optimum = result.optimum
    print(
        f"theta: {optimum.evaluations} evaluations, {time.perf_counter() - started:.2f} s, "
        f"deviance {optimum.deviance!r}, a step would gain {optimum.gain:.1e}",
        file=sys.stderr,
    )
    return result


def confirm_by_lme4(model: Any, searched: ScaledSearch, notes: Sequence[str]) -> Result:
    """Have lme4 confirm the deviance at the optimum, and build its merMod object there.

    The search's own figures are compared with lme4's, since unconfirmed fits report them.
    """
    result = searched.in_original_units()
    by_group, optimum = result.blocks(), result.optimum
    parts = []
    for group, columns in lme4.terms(model):
        if group not in by_group:
            raise NotSearchable(f"its grouping variable {group} is not among ours")
        parts.append(_theta_part(columns, *by_group[group]))
    theta = np.concatenate(parts)
    evaluation, value = lme4.evaluate(model, theta)
    if not abs(value - searched.deviance) <= AGREEMENT * abs(value):
        raise NotSearchable(f"its deviance is {value!r}, the search's {searched.deviance!r}")
    fit = lme4.make_at(model, evaluation, theta)
    summary = lme4.summary_of(fit)
    difference = distance(summary_of(searched)[0], summary)
    if difference is not None and not difference <= CLOSE:
        raise NotSearchable(f"its figures are {difference:.1e} standard errors from the search's")
    notes = [*notes, *search_notes(optimum)]
    text = "; ".join(notes)
    return Result(summary, optimum.converged, text, fit, optimum, difference=difference)


def search_notes(optimum: Optimum) -> list[str]:
    """Return notes on a singular or unconverged optimum."""
    notes = []
    if optimum.singular:
        notes.append("singular fit: a variance or a correlation is at its limit")
    if not optimum.converged:
        notes.append(f"not converged: a step would lower the deviance by {optimum.gain:.2g}")
    return notes


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


def _theta_part(columns: list[str], factor: Factor, L: np.ndarray) -> np.ndarray:
    """Return one term's part of theta: the lower triangle of its block of L, by column."""
    keys = [frozenset(factors(c)) for c in factor.columns]
    try:
        index = [keys.index(frozenset(factors(c))) for c in columns]
    except ValueError:
        raise NotSearchable(f"its columns {columns} are not ours, {factor.columns}") from None
    if index != sorted(index):
        raise NotSearchable(f"its columns {columns} are in another order, {factor.columns}")
    block = L[np.ix_(index, index)]
    return block.T[np.triu_indices(len(index))]
