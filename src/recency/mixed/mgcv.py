"""R's mgcv through rpy2: additive models fitted by bam(), and predictions from a stored part."""

import base64
import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from recency.mixed import lme4
from recency.mixed.additive import Additive
from recency.mixed.levels import Levels
from recency.mixed.summary import FitSummary

POINTS = 101
"""Number of points at which a smooth is evaluated over its predictor's range."""
ROWS = 10_000
"""Above this number of rows bam() rounds predictors to a grid (`discrete`), 100 times as fast."""


@dataclass
class AdditiveFit:
    """A fit of bam(), its smooths and its stored part, or the reason why there is none."""

    summary: FitSummary | None
    note: str
    smooths: list[dict[str, Any]]
    criteria: dict[str, float]
    packed: str
    discrete: bool


def fit_additive(
    formula: Additive,
    predictors: Mapping[str, np.ndarray],
    y: np.ndarray,
    groups: Mapping[str, Levels],
    family: str,
) -> AdditiveFit:
    """Fit by bam(method="fREML"); predictors and y (n,) are used without scaling.

    Each smooth has label, names, edf, ref_df, statistic, p and, for a single variable, x, effect
    and se (POINTS,). A model that mgcv refuses has no summary, and the reason in its note.
    """
    lme4.source_r(Path(__file__).with_name("mgcv.R"))
    columns = {name: predictors[name] for name in formula.predictors}
    columns |= {name: groups[name] for name in formula.groups}
    data = lme4.data_frame({formula.response: y, **columns})
    discrete = len(y) > ROWS
    try:
        written = lme4.formula_in_r(str(formula))
        fit, messages = lme4.attempt("fit_additive", written, data, family, discrete)
        parts, _ = lme4.attempt("summarise_additive", fit, POINTS)
        packed, _ = lme4.attempt("packed", fit)
    except lme4.Refused as reason:
        return AdditiveFit(None, f"mgcv: {reason}", [], {}, "", discrete)
    results = dict(zip(parts.names, parts, strict=True))
    summary = FitSummary(
        fixed=dict(zip(results["fixed"], results["estimates"], strict=True)),
        se=list(results["se"]),
        theta=[],
        sigma=results["sigma"][0],
        loglik=results["loglik"][0],
        singular=False,
        random={},
        modes={},
        messages=messages,
        converged=bool(results["converged"][0]),
        covariance=np.empty((0, 0)),
    )
    for of_smooth in results["random"]:
        _add_random(summary, dict(zip(of_smooth.names, of_smooth, strict=True)))
    smooths = []
    for label, terms, tests, curve in zip(
        results["labels"], results["terms"], results["tests"], results["curves"], strict=True
    ):
        names = ("edf", "ref_df", "statistic", "p")
        smooth = {"label": label, "names": list(terms), **dict(zip(names, tests, strict=True))}
        smooths.append(smooth | dict(zip(("x", "effect", "se"), map(list, curve), strict=False)))
    criteria = {name: results[name][0] for name in ("aic", "bic")}
    text = base64.b64encode(bytes(packed)).decode()
    return AdditiveFit(summary, "; ".join(messages), smooths, criteria, text, discrete)


def _add_random(summary: FitSummary, of: Mapping[str, Any]) -> None:
    """Add a random smooth's column to its group; random smooths are uncorrelated."""
    (group,), (column,) = of["group"], of["column"]
    spread = summary.random.setdefault(group, {"columns": [], "sd": [], "correlation": None})
    spread["columns"].append(column)
    spread["sd"].append(of["sd"][0])
    spread["correlation"] = np.eye(len(spread["columns"]))
    modes = summary.modes.setdefault(group, {})
    for level, value in zip(of["levels"], of["coefficients"], strict=True):
        modes.setdefault(level, []).append(value)


def fixed_part(packed: str, predictors: Mapping[str, np.ndarray], n: int) -> np.ndarray:
    """Return the linear predictor (n,) of new data without random effects, from `AdditiveFit`."""
    fit = _unpacked(packed)
    data = lme4.data_frame({**predictors, ".rows": np.zeros(n)})
    return np.array(lme4.attempt("fixed_additive", fit, data)[0])


@functools.lru_cache(maxsize=4)
def _unpacked(packed: str) -> Any:
    lme4.source_r(Path(__file__).with_name("mgcv.R"))
    from rpy2.rinterface import ByteSexpVector

    return lme4.attempt("unpacked", ByteSexpVector(base64.b64decode(packed)))[0]
