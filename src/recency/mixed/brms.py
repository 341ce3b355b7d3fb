"""Bayesian mixed models with R's brms through rpy2: sampled by Stan, with predictive densities.

The record has the same form as for maximum likelihood, with posterior means as estimates.
"""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from recency.errors import InputError
from recency.mixed import brms_model, families, lme4, shifted
from recency.mixed.brms_model import Call
from recency.mixed.fitting import Result
from recency.mixed.formula import INTERCEPT, Formula
from recency.mixed.levels import Levels, joined
from recency.mixed.summary import FitSummary, Predictive

RHAT = 1.05
"""The largest R-hat of a converged fit; Stan warns above it."""
BAD_K = 0.7
"""Pareto k above which PSIS-LOO of an observation is unreliable (Vehtari et al. 2017)."""


def response_of(y: np.ndarray, design: Mapping[str, Any]) -> np.ndarray:
    """Return the response (n,) for brms: times under a log family, above a stated shift."""
    family = design.get("family", families.GAUSSIAN)
    if family == families.LOGNORMAL:
        return np.exp(y)
    if family == families.SHIFTED and "shift" in design:
        shifted.check(design["shift"], y)
        return y - design["shift"]
    return y


def fit_bayesian(
    formula: Formula,
    design: Mapping[str, Any],
    predictors: Mapping[str, np.ndarray],
    y: np.ndarray,
    groups: Mapping[str, Levels],
) -> tuple[Result, dict[str, Any]]:
    """Sample a model's posterior with brms.

    Parameters
    ----------
    formula
        The model, with indicators for categories.
    design
        With family, link, shift, priors and sampling, each optional.
    predictors
        Columns (n,), scaled.
    y
        Response (n,): its logarithm for the lognormal family, 0 and 1 for events.
    groups
        Grouping variables.

    Returns
    -------
    result : Result
        Without a summary if brms refuses the model; its note has the reason. `loglik` is elpd by
        PSIS-LOO.
    more : dict
        Further entries of the record: scale, shift, `brms`.
    """
    try:
        lme4.source_r(Path(__file__).with_name("brms.R"))
    except InputError as error:
        raise InputError(f"{error}; {brms_model.INSTALL}") from None
    from rpy2.rinterface import NULL

    call = brms_model.call(formula, design)
    names = {group: joined(group, groups).names for group in call.groups}
    data = _data(call, predictors, groups, names, response_of(y, design))
    settings = call.sampling
    try:
        scale = lme4.formula_in_r(call.scale) if call.scale else NULL
        fit, messages = lme4.attempt(
            "fit_bayesian", lme4.formula_in_r(call.formula), scale, data, call.family, call.link,
            _priors_in_r(call), *(settings[k] for k in ("chains", "iterations", "warmup", "seed", "cores")),
        )  # fmt: skip
        parts = _named(lme4.attempt("summarise_bayesian", fit)[0])
        loo = _named(lme4.attempt("loo_of", fit)[0])
    except lme4.Refused as reason:
        return Result(None, False, f"brms: {reason}"), {}

    def held_out(
        predictors: Mapping[str, np.ndarray], groups: Mapping[str, Levels], y: np.ndarray
    ) -> np.ndarray:
        data = _data(call, predictors, groups, names, response_of(y, design))
        return np.array(lme4.attempt("predictive_density", fit, data, settings["seed"])[0])

    location, of_scale = _effects(call, parts, names)
    elpd = np.array(loo["elpd"])
    summary = FitSummary(
        **location,
        theta=[],
        sigma=math.nan,
        loglik=float(elpd.sum()),
        singular=False,
        messages=[],
        converged=parts["rhat"][0] <= RHAT and parts["divergences"][0] == 0,
        predictive=Predictive(elpd, held_out),
    )
    more = {"brms": _described(call, parts, loo), "fixed": _fixed(call, parts)}
    more |= _scale(call, design, parts, of_scale, summary)
    note = _note(more["brms"], messages)
    return Result(summary, summary.converged, note, by="brms"), more


def _data(
    call: Call,
    predictors: Mapping[str, np.ndarray],
    groups: Mapping[str, Levels],
    names: Mapping[str, list[str]],
    y: np.ndarray,
) -> Any:
    """Build brms's data frame; levels are numbered as in the fit, with new ones at the end."""
    columns: dict[str, np.ndarray | Levels] = {"y": np.asarray(y, dtype=float)}
    columns |= {other: predictors[here] for here, other in call.terms.items()}
    for here, other in call.groups.items():
        of_rows = joined(here, groups)
        number = {name: code for code, name in enumerate(names[here])}
        new = len(number)
        codes = [number.setdefault(name, len(number)) for name in of_rows.names]
        labels = [f"l{n}" if n < new else f"new{n}" for n in range(len(number))]
        columns[other] = Levels(np.array(codes)[of_rows.codes], labels)
    return lme4.data_frame(columns)


def _priors_in_r(call: Call) -> Any:
    from rpy2 import robjects
    from rpy2.rinterface import StrSexpVector

    columns = {k: StrSexpVector([p[k] for p in call.priors]) for k in brms_model.PRIOR_KEYS}
    return robjects.r["data.frame"](**columns)


def _named(values: Any) -> dict[str, Any]:
    return dict(zip(values.names, values, strict=True))


def _effects(
    call: Call, parts: Mapping[str, Any], names: Mapping[str, list[str]]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return fixed, se, covariance, random and modes, for the location and for the scale."""
    prefix = _prefix(call)
    all_terms = list(parts["fixed"])
    size = len(all_terms)
    covariance = np.array(parts["covariance"]).reshape(size, size)
    effects = []
    for of_scale in (False, True):
        at = [i for i, n in enumerate(all_terms) if n.startswith(prefix) == of_scale]
        terms = [call.term(all_terms[i].removeprefix(prefix)) for i in at]
        part = {
            "fixed": {t: parts["estimates"][i] for t, i in zip(terms, at, strict=True)},
            "se": [parts["se"][i] for i in at],
            "covariance": covariance[np.ix_(at, at)],
            "random": {},
            "modes": {},
        }
        for of_group in map(_named, parts["random"]):
            _add_random(part, call, of_group, prefix, of_scale, names)
        effects.append(part)
    return effects[0], effects[1]


def _prefix(call: Call) -> str:
    """Return the prefix of the names of effects on the scale; a null character without a scale."""
    return f"{call.scale.partition(' ')[0]}_" if call.scale else "\0"


def _fixed(call: Call, parts: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return term, posterior mean, sd and 95 % interval of the location's fixed effects."""
    keys = ("estimates", "se", "low", "high")
    rows = zip(parts["fixed"], *(parts[key] for key in keys), strict=True)
    return [
        {"term": call.term(name), "estimate": mean, "se": sd, "low": low, "high": high}
        for name, mean, sd, low, high in rows
        if not name.startswith(_prefix(call))
    ]


def _add_random(
    part: dict[str, Any],
    call: Call,
    of: Mapping[str, Any],
    prefix: str,
    of_scale: bool,
    names: Mapping[str, list[str]],
) -> None:
    """Add a group's effects on the location or on the scale."""
    (other,) = of["group"]
    group = next(here for here, name in call.groups.items() if name == other)
    columns = list(of["columns"])
    at = [i for i, name in enumerate(columns) if name.startswith(prefix) == of_scale]
    if not at:
        return
    size = len(columns)
    correlation = np.array(of["correlation"]).reshape(size, size)
    part["random"][group] = {
        "columns": [call.term(columns[i].removeprefix(prefix)) for i in at],
        "sd": [of["sd"][i] for i in at],
        "correlation": correlation[np.ix_(at, at)],
    }
    levels = list(of["levels"])
    table = np.array(of["modes"]).reshape(size, len(levels)).T[:, at]
    levels_of_fit = names[group]
    part["modes"][group] = {
        levels_of_fit[int(level[1:])]: row.tolist()
        for level, row in zip(levels, table, strict=True)
    }


def _scale(
    call: Call,
    design: Mapping[str, Any],
    parts: Mapping[str, Any],
    of_scale: dict[str, Any],
    summary: FitSummary,
) -> dict[str, Any]:
    """Set the summary's sigma; return shift and density in the form that other engines record."""
    family = design.get("family", families.GAUSSIAN)
    means, logs = (dict(zip(parts["parameters"], parts[k], strict=True)) for k in ("means", "logs"))
    more: dict[str, Any] = {}
    if family == families.SHIFTED:
        more["shift"] = float(design.get("shift", means.get("ndt", math.nan)))
    if family == families.BINOMIAL:
        summary.sigma = 1.0
        return more
    _, name, factor = brms_model.FAMILIES[family]
    summary.sigma = means.get("sigma", math.nan)
    if family in families.LINEAR and not call.scale and call.link != "log":
        return more
    of_scale = _scaled(of_scale, factor)
    if not of_scale["fixed"]:
        of_scale["fixed"] = {INTERCEPT: factor * logs[name]}
        of_scale["se"] = [math.nan]
    summary.sigma = math.nan
    more["density"] = {
        "name": families.GAUSSIAN if family in families.LINEAR else family,
        "link": call.link,
        "scale": {
            "fixed": [
                {"term": term, "estimate": value, "se": se}
                for (term, value), se in zip(of_scale["fixed"].items(), of_scale["se"], strict=True)
            ],
            "random": {
                group: {
                    "terms": s["columns"],
                    "sd": s["sd"],
                    "correlation": s["correlation"].tolist(),
                }
                for group, s in of_scale["random"].items()
            },
            "ranef": of_scale["modes"],
        },
        "others": {"beta": logs["beta"]} if family == "exgaussian" else {},
    }
    return more


def _scaled(part: dict[str, Any], factor: float) -> dict[str, Any]:
    """Convert effects on a log parameter to effects on log sigma."""
    return {
        "fixed": {term: factor * value for term, value in part["fixed"].items()},
        "se": [abs(factor) * se for se in part["se"]],
        "random": {
            group: {**spread, "sd": [abs(factor) * sd for sd in spread["sd"]]}
            for group, spread in part["random"].items()
        },
        "modes": {
            group: {level: [factor * v for v in values] for level, values in modes.items()}
            for group, modes in part["modes"].items()
        },
    }


def _described(call: Call, parts: Mapping[str, Any], loo: Mapping[str, Any]) -> dict[str, Any]:
    """Return the record of the sampling, the priors and PSIS-LOO."""
    back = {other: here for names in (call.terms, call.groups) for here, other in names.items()}
    priors = [
        {k: back.get(v, v) for k, v in zip(brms_model.PRIOR_KEYS, row, strict=True) if v}
        for row in zip(*parts["priors"], strict=True)
    ]
    k = np.array(loo["k"])
    elpd, p, se, _ = loo["estimates"]
    return {
        "formula": call.formula + (f", {call.scale}" if call.scale else ""),
        "names": {other: here for here, other in (*call.terms.items(), *call.groups.items())},
        "sampling": {**call.sampling, "draws": int(parts["draws"][0])},
        "priors": priors,
        "rhat": parts["rhat"][0],
        "ess": parts["ess"][0],
        "divergences": int(parts["divergences"][0]),
        "loo": {
            "elpd": elpd,
            "se": se,
            "p": p,
            "bad_k": {int(row): float(k[row]) for row in np.flatnonzero(k > BAD_K)},
        },
    }


def _note(about: Mapping[str, Any], messages: list[str]) -> str:
    """Return a note on convergence problems and on unreliable PSIS-LOO."""
    notes = []
    if about["rhat"] > RHAT:
        notes.append(f"not converged: R-hat is {about['rhat']:.3f} at most")
    if about["divergences"]:
        notes.append(f"{about['divergences']} divergent transitions after warm-up")
    if bad := about["loo"]["bad_k"]:
        notes.append(f"Pareto k is above {BAD_K} for {len(bad):,} observations")
    return "; ".join(notes)
