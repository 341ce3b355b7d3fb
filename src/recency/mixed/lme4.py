"""R's lme4 through rpy2, by memory views: no conversion of frames, factors as integer codes.

An R object is passed around as it is; what Python reads from it comes as arrays and strings.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from recency.errors import InputError
from recency.regression.predictors import Levels


class Refused(RuntimeError):
    """lme4 stopped with an error; the message is its reason."""


@dataclass
class Told:
    """What a merMod object says of itself; `random` and `modes` are by grouping variable."""

    fixed: dict[str, float]
    se: list[float]
    theta: list[float]
    sigma: float
    loglik: float
    singular: bool
    random: dict[str, dict[str, Any]]
    """columns, sd (k,) and correlation (k, k), which is NaN beside a zero sd"""
    modes: dict[str, dict[str, list[float]]]
    """the conditional modes of each level, in the order of the columns"""
    messages: list[str]
    converged: bool


@functools.cache
def _r() -> Any:
    """Start R once and return its global environment with lme4 and last_word.R loaded."""
    # An rpy2 that was installed without R's link libraries has this mode alone.
    os.environ.setdefault("RPY2_CFFI_MODE", "ABI")
    libraries = os.environ.get("LD_LIBRARY_PATH")
    try:
        from rpy2 import rinterface, robjects
    except (ImportError, OSError, ValueError) as error:
        raise InputError(
            f"rpy2 cannot start R ({error}); is R installed, and on the PATH?"
        ) from None
    try:
        robjects.r["source"](str(Path(__file__).with_name("last_word.R")))
    except rinterface.embedded.RRuntimeError as error:
        raise InputError(f"R cannot load lme4 ({error}); install R's package lme4") from None
    finally:
        # rpy2 leads later child processes to R's libraries, where another Python's may lie.
        os.environ.pop("LD_LIBRARY_PATH", None)
        if libraries is not None:
            os.environ["LD_LIBRARY_PATH"] = libraries
    return robjects.globalenv


def _attempt(function: str, *arguments: Any) -> tuple[Any, list[str]]:
    value, said, error = _r()["attempt"](_r()[function], *arguments)
    if len(error):
        raise Refused(" ".join(error[0].split()))
    return value, list(dict.fromkeys(" ".join(line.split()) for line in said))


def data_frame(columns: Mapping[str, np.ndarray], groups: Mapping[str, Levels]) -> Any:
    """Make an R data frame of float columns (n,) and grouping variables."""
    r = _r()
    from rpy2 import robjects
    from rpy2.rinterface import FloatSexpVector, IntSexpVector, ListSexpVector, StrSexpVector

    values = []
    for column in columns.values():
        array = np.ascontiguousarray(column, dtype=np.float64)
        values.append(FloatSexpVector.from_memoryview(memoryview(array)))
    for group in groups.values():
        codes = (group.codes + 1).astype(np.int32)
        codes = IntSexpVector.from_memoryview(memoryview(codes))
        values.append(r["as_factor"](codes, StrSexpVector(group.names)))
    named = robjects.r["names<-"](ListSexpVector(values), StrSexpVector([*columns, *groups]))
    return r["as_data_frame"](named)


def set_up(formula: str, data: Any) -> tuple[Any, list[str]]:
    """Return lme4's modular model of `formula` and what lme4 had to say about it."""
    return _attempt("set_up", formula, data)


def terms(model: Any) -> list[tuple[str, list[str]]]:
    """Group and columns of each random term, in the order in which lme4 lays theta out."""
    groups, columns = _r()["terms_of"](model)
    return list(zip(groups, map(list, columns), strict=True))


def evaluate(model: Any, theta: np.ndarray) -> tuple[Any, float]:
    """Return lme4's deviance function, left at `theta`, and its value there."""
    evaluation, _ = _attempt("evaluate", model, _vector(theta))
    return evaluation, evaluation[1][0]


def make_at(model: Any, evaluation: Any, theta: np.ndarray) -> Any:
    """Make the merMod object at `theta`, at which `evaluation` was left."""
    return _attempt("make_at", model, evaluation, _vector(theta))[0]


def optimise(model: Any) -> tuple[Any, list[str]]:
    """Run lme4's optimiser with its defaults; return the merMod object and lme4's messages."""
    return _attempt("optimise", model)


def told(fit: Any) -> Told:
    """Read all reported figures from a merMod object."""
    parts = _r()["told"](fit)
    said = dict(zip(parts.names, parts, strict=True))
    random: dict[str, dict[str, Any]] = {}
    for group, columns, sd, correlation in zip(
        said["groups"], said["columns"], said["sd"], said["correlation"], strict=True
    ):
        of_group = random.setdefault(group, {"columns": [], "sd": [], "correlation": np.eye(0)})
        of_group["columns"] += list(columns)
        of_group["sd"] += list(sd)
        before, new = of_group["correlation"], np.asarray(correlation).reshape(len(sd), -1)
        joined = np.zeros((len(before) + len(new),) * 2)
        joined[: len(before), : len(before)], joined[len(before) :, len(before) :] = before, new
        of_group["correlation"] = joined
    modes = {}
    for group, table in zip(said["modes"].names, said["modes"], strict=True):
        order = [list(table.colnames).index(column) for column in random[group]["columns"]]
        rows = np.asarray(table)[:, order].tolist()
        modes[group] = dict(zip(table.rownames, rows, strict=True))
    return Told(
        fixed=dict(zip(said["fixed"].names, said["fixed"], strict=True)),
        se=list(said["se"]),
        theta=list(said["theta"]),
        sigma=said["sigma"][0],
        loglik=said["loglik"][0],
        singular=bool(said["singular"][0]),
        random=random,
        modes=modes,
        messages=list(said["messages"]),
        converged=said["code"][0] == 0 and said["optimiser"][0] == 0,
    )


def _vector(values: np.ndarray) -> Any:
    from rpy2.rinterface import FloatSexpVector

    return FloatSexpVector(values)
