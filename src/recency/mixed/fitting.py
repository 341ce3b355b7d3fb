"""One mixed model: theta searched on cross-products, and its figures, lme4's or our own."""

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
from recency.mixed.own_figures import distance, summary_of
from recency.mixed.scaled_search import Found, ScaledSearch, as_given, search_theta
from recency.mixed.summary import FitSummary
from recency.mixed.theta_search import Optimum

AGREEMENT = 1e-6
"""Relative difference between our deviance and lme4's at the same theta above which ours is out."""
ALIKE = 1e-5
"""Standard errors between our figures and lme4's at the same theta above which ours are out."""


@dataclass
class Result:
    """A fitted model, or the reason why there is none; `model` is the merMod object in R."""

    summary: FitSummary | None
    converged: bool
    note: str
    model: Any = None
    optimum: Optimum | None = None
    by: str = "lme4"
    """whose figures these are: `lme4`, `search`, or of other models what fitted them"""
    difference: float | None = None
    """how far the search's own figures are from lme4's, where both were computed; see distance()"""


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

    A `family` other than gaussian is fitted by lme4's glmer(), whatever the engine. With `confirm`
    lme4 sets up what was searched on cross-products, evaluates its deviance there and reports the
    figures; without, they are ours, and R is not started unless the search does not cover the model.

    `predictors` and `y` have one element per observation. A model that cannot be fitted is a
    Result without figures, with the reason in its note.
    """
    used = {name: predictors[name] for name in formula.predictors}
    found, notes = None, []
    if engine == "cross_products" and family == GAUSSIAN:
        try:
            if not confirm:
                check_levels(formula, groups, len(y))
            found = _timed_search(formula, used, y, groups)
            if not confirm:
                return alone(as_given(formula, found, groups, float(y.mean())))
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
            return reported(fit, messages)
        model, messages = lme4.set_up(str(formula), data)
        notes += messages
        if found is not None:
            try:
                return confirmed(model, as_given(formula, found, groups, float(y.mean())), notes)
            except (NotSearchable, np.linalg.LinAlgError) as reason:
                notes.append(f"lme4's optimiser was used: {reason}")
        return optimised(model, notes)
    except Refused as reason:
        return Result(None, False, "; ".join([*notes, f"lme4: {reason}"]))


def check_levels(formula: Formula, groups: Mapping[str, Levels], n: int) -> None:
    """Raise Refused, as lme4 would, where a grouping variable has too few levels or too many."""
    for term in formula.random:
        levels = len(joined(term.group, groups).names)
        if levels < 2 or levels * len(term.columns) >= n:
            raise Refused(
                f"{term.group} has {levels} levels, with {len(term.columns)} random effects each, "
                f"in {n} rows; there must be two levels, and fewer effects than rows"
            )


def alone(searched: ScaledSearch, notes: Sequence[str] = ()) -> Result:
    """Report a search's own figures, of which lme4 has seen none."""
    summary, dropped = summary_of(searched)
    if dropped:
        notes = [*notes, f"fixed effects that depend on others were dropped: {', '.join(dropped)}"]
    optimum = searched.in_given_units().optimum
    notes = [*notes, *search_notes(optimum)]
    return Result(summary, summary.converged, "; ".join(notes), None, optimum, by="search")


def optimised(model: Any, notes: Sequence[str]) -> Result:
    """Fit a model that lme4 has set up by lme4's own optimiser."""
    fit, messages = lme4.optimise(model)
    return reported(fit, messages, notes)


def reported(fit: Any, messages: Sequence[str], notes: Sequence[str] = ()) -> Result:
    """Read a merMod object that lme4's optimiser ended at."""
    summary = lme4.summary_of(fit)
    notes = [*notes, *dict.fromkeys([*messages, *summary.messages])]
    return Result(summary, summary.converged, "; ".join(notes), fit)


def _timed_search(*arguments: Any) -> Found:
    """Search theta, and print in the job's log how that went."""
    started = time.perf_counter()
    found = search_theta(*arguments)
    optimum = found.optimum
    print(
        f"theta: {optimum.evaluations} evaluations, {time.perf_counter() - started:.2f} s, "
        f"deviance {optimum.deviance!r}, a step would gain {optimum.gain:.1e}",
        file=sys.stderr,
    )
    return found


def confirmed(model: Any, searched: ScaledSearch, notes: Sequence[str]) -> Result:
    """Have lme4 confirm the deviance at the optimum, and make its merMod object there.

    The search's own figures are compared with lme4's: fits that lme4 does not see report these.
    """
    found = searched.in_given_units()
    by_group, optimum = found.blocks(), found.optimum
    parts = []
    for group, columns in lme4.terms(model):
        if group not in by_group:
            raise NotSearchable(f"its grouping variable {group} is not among ours")
        parts.append(_laid_out(columns, *by_group[group]))
    theta = np.concatenate(parts)
    evaluation, value = lme4.evaluate(model, theta)
    if not abs(value - searched.deviance) <= AGREEMENT * abs(value):
        raise NotSearchable(f"its deviance is {value!r}, the search's {searched.deviance!r}")
    fit = lme4.make_at(model, evaluation, theta)
    summary = lme4.summary_of(fit)
    difference = distance(summary_of(searched)[0], summary)
    if difference is not None and not difference <= ALIKE:
        raise NotSearchable(f"its figures are {difference:.1e} standard errors from the search's")
    notes = [*notes, *search_notes(optimum)]
    text = "; ".join(notes)
    return Result(summary, optimum.converged, text, fit, optimum, difference=difference)


def search_notes(optimum: Optimum) -> list[str]:
    """Return what is to be said of an optimum: that it is singular, that it did not converge."""
    notes = []
    if optimum.singular:
        notes.append("singular fit: a variance or a correlation is at its limit")
    if not optimum.converged:
        notes.append(f"not converged: a step would lower the deviance by {optimum.gain:.2g}")
    return notes


def figures(result: Result) -> dict[str, Any]:
    """Return what is recorded of a fit, for JSON and for predictions; empty where there is none."""
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


def _laid_out(columns: list[str], factor: Factor, L: np.ndarray) -> np.ndarray:
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
