"""R's lme4 through rpy2, using memory views: no conversion of frames, factors as integer codes.

R objects are passed around unchanged; results are read as arrays and strings.
"""

import functools
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from crosslmm.design import Coding
from crosslmm.errors import InputError
from crosslmm.expressions import CODINGS, FUNCTIONS, R_FUNCTIONS, R_OPERATORS
from crosslmm.factors import Levels
from crosslmm.summary import FitSummary


class Refused(RuntimeError):
    """lme4 stopped with an error; the message is its reason."""


class Unavailable(InputError):
    """R or lme4 is not installed."""


@functools.cache
def _r() -> Any:
    """Start R once and return its global environment with lme4 and lme4.R loaded."""
    # rpy2 has only this mode if it was installed without R's link libraries.
    os.environ.setdefault("RPY2_CFFI_MODE", "ABI")
    libraries = os.environ.get("LD_LIBRARY_PATH")
    try:
        from rpy2 import rinterface, robjects
    except (ImportError, OSError, ValueError) as error:
        raise Unavailable(
            f"rpy2 cannot start R ({error}); install R and rpy2, and put R on the PATH"
        ) from None
    try:
        robjects.r["source"](str(Path(__file__).with_name("lme4.R")))
    except rinterface.embedded.RRuntimeError as error:
        raise Unavailable(f"R cannot load lme4 ({error}); install R's package lme4") from None
    finally:
        # rpy2 would point child processes to R's libraries, which may conflict with their Python's.
        os.environ.pop("LD_LIBRARY_PATH", None)
        if libraries is not None:
            os.environ["LD_LIBRARY_PATH"] = libraries
    return robjects.globalenv


def start() -> None:
    """Start R, so that forked processes inherit it."""
    _r()


@functools.cache
def source_r(path: Path) -> None:
    """Source further R code; raise an InputError if a package is missing."""
    _r()
    from rpy2 import rinterface, robjects

    try:
        robjects.r["source"](str(path))
    except rinterface.embedded.RRuntimeError as error:
        why = " ".join(str(error).split())
        raise InputError(f"R cannot load {path.stem} ({why}); install R's package") from None


def attempt(function: str, *arguments: Any) -> tuple[Any, list[str]]:
    """Call a function in R's global environment; return its value and its messages.

    Raises Refused with R's reason if it stops.
    """
    value, messages, error = _r()["attempt"](_r()[function], *arguments)
    if len(error):
        raise Refused(" ".join(error[0].split()))
    return value, list(dict.fromkeys(" ".join(line.split()) for line in messages))


def data_frame(
    columns: Mapping[str, np.ndarray | Levels], codings: Mapping[str, Coding] | None = None
) -> Any:
    """Build an R data frame of numeric or boolean columns (n,), and factors with their codings."""
    r = _r()
    from rpy2 import robjects
    from rpy2.rinterface import (
        BoolSexpVector,
        FloatSexpVector,
        IntSexpVector,
        ListSexpVector,
        StrSexpVector,
    )

    values = []
    for name, column in columns.items():
        if isinstance(column, Levels):
            codes = (column.codes + 1).astype(np.int32)
            codes = IntSexpVector.from_memoryview(memoryview(codes))
            values.append(r["as_factor"](codes, StrSexpVector(column.names)))
            if name in (codings or {}):
                by_column = codings[name].values.ravel(order="F")
                labels = StrSexpVector(codings[name].labels)
                values[-1] = r["with_contrasts"](values[-1], _vector(by_column), labels)
        elif column.dtype == bool:
            values.append(BoolSexpVector(column.tolist()))
        else:
            array = np.ascontiguousarray(column, dtype=np.float64)
            values.append(FloatSexpVector.from_memoryview(memoryview(array)))
    named = robjects.r["names<-"](ListSexpVector(values), StrSexpVector(list(columns)))
    return r["as_data_frame"](named)


def formula_in_r(text: str) -> Any:
    """Convert text to an R formula; raise an InputError if it calls a forbidden function."""
    from rpy2.rinterface import StrSexpVector

    functions = (*FUNCTIONS, *CODINGS, *R_FUNCTIONS)
    try:
        return attempt("as_formula", text, StrSexpVector([*functions, *R_OPERATORS]))[0]
    except Refused as reason:
        more = f"; it may call {', '.join(functions)}" if "it calls" in str(reason) else ""
        raise InputError(f"formula {text!r}: {reason}{more}") from None


def set_up(
    formula: str, data: Any, reml: bool = False, weights: str | None = None
) -> tuple[Any, list[str]]:
    """Set up lme4's modular model; return it and its messages. `weights` is a column of `data`."""
    return attempt("set_up", formula_in_r(formula), data, reml, weights or "")


def set_up_terms(formula: str, data: Any, some: np.ndarray) -> Any | None:
    """Set up a model of numeric columns faster than `set_up`; None if it is another model.

    `some` are the numbers of rows in which all levels occur.
    """
    from rpy2.rinterface import IntSexpVector

    rows = IntSexpVector((some + 1).tolist())
    try:
        model, _ = attempt("set_up_terms", formula_in_r(formula), data, rows)
    except Refused:
        return None
    return model if len(model) else None


def terms(model: Any) -> list[tuple[str, list[str]]]:
    """Return group and columns of each random term, in lme4's order of theta."""
    groups, columns = _r()["terms_of"](model)
    return list(zip(groups, map(list, columns), strict=True))


def terms_of_fit(fit: Any) -> list[tuple[str, list[str]]]:
    """Return group and columns of each random term of a merMod object, in the order of theta."""
    groups, columns = _r()["terms_of_fit"](fit)
    return list(zip(groups, map(list, columns), strict=True))


def derivatives(fit: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return gradient (q,) and Hessian (q, q) at the optimum, parameters (q,), lower bounds (q,)."""
    gradient, hessian, at, lower = map(np.array, attempt("derivatives", fit)[0])
    return gradient, hessian.reshape((len(gradient),) * 2), at, lower


def evaluate(model: Any, theta: np.ndarray) -> tuple[Any, float]:
    """Return lme4's deviance function, evaluated last at `theta`, and its value there."""
    evaluation, _ = attempt("evaluate", model, _vector(theta))
    return evaluation, evaluation[1][0]


def make_at(model: Any, evaluation: Any, theta: np.ndarray) -> Any:
    """Build the merMod object at `theta`, where `evaluation` was evaluated."""
    return attempt("make_at", model, evaluation, _vector(theta))[0]


def generalised(
    formula: str, data: Any, family: str, weights: str | None = None
) -> tuple[Any, list[str]]:
    """Run glmer() with its defaults (Laplace); return the merMod object and lme4's messages."""
    return attempt("generalised", formula_in_r(formula), data, family, weights or "")


def optimise(model: Any) -> tuple[Any, list[str]]:
    """Run lme4's optimiser with its defaults; return the merMod object and lme4's messages."""
    return attempt("optimise", model)


def summary_of(fit: Any) -> FitSummary:
    """Read all reported figures from a merMod object."""
    parts, _ = attempt("summarise", fit)
    parts = dict(zip(parts.names, parts, strict=True))
    random: dict[str, dict[str, Any]] = {}
    for group, columns, sd, correlation in zip(
        parts["groups"], parts["columns"], parts["sd"], parts["correlation"], strict=True
    ):
        of_group = random.setdefault(group, {"columns": [], "sd": [], "correlation": np.eye(0)})
        of_group["columns"] += list(columns)
        of_group["sd"] += list(sd)
        before, new = of_group["correlation"], np.asarray(correlation).reshape(len(sd), -1)
        joined = np.zeros((len(before) + len(new),) * 2)
        joined[: len(before), : len(before)], joined[len(before) :, len(before) :] = before, new
        of_group["correlation"] = joined
    modes = {}
    for group, table in zip(parts["modes"].names, parts["modes"], strict=True):
        order = [list(table.colnames).index(column) for column in random[group]["columns"]]
        rows = np.asarray(table)[:, order].tolist()
        modes[group] = dict(zip(table.rownames, rows, strict=True))
    fixed = dict(zip(parts["fixed"].names, parts["fixed"], strict=True)) if len(parts["se"]) else {}
    return FitSummary(
        fixed=fixed,
        se=list(parts["se"]),
        theta=list(parts["theta"]),
        sigma=parts["sigma"][0],
        loglik=parts["loglik"][0],
        singular=bool(parts["singular"][0]),
        random=random,
        modes=modes,
        messages=list(parts["messages"]),
        converged=parts["code"][0] == 0 and parts["optimiser"][0] == 0,
        covariance=np.array(parts["covariance"]).reshape((len(parts["se"]),) * 2),
    )


def predict(fit: Any, data: Any, random: bool) -> np.ndarray:
    """Predict (n,) for an R data frame; effects of new levels are 0."""
    return np.array(attempt("predicted", fit, data, random)[0])


def packed(fit: Any) -> bytes:
    """Serialise a merMod object in R's format."""
    return bytes(attempt("serialized", fit)[0])


def unpacked(written: bytes) -> Any:
    """Read a merMod object that `packed` serialised."""
    from rpy2.rinterface import ByteSexpVector

    return attempt("unserialized", ByteSexpVector(written))[0]


def intervals(fit: Any, method: str, level: float, draws: int, seed: int) -> dict[str, list[float]]:
    """Run confint(); return the two limits of all parameters by name."""
    table, _ = attempt("intervals", fit, method, level, draws, seed)
    return dict(zip(table.rownames, np.asarray(table).tolist(), strict=True))


def simulated(fit: Any, n: int, seed: int, new_effects: bool) -> np.ndarray:
    """Run simulate(); return responses (rows, n)."""
    return np.array(attempt("simulated", fit, n, seed, new_effects)[0])


def fitted_of(fit: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the fitted values (n,) and the response (n,)."""
    fitted, response = attempt("fitted_of", fit)[0]
    return np.array(fitted), np.array(response)


def _vector(values: np.ndarray) -> Any:
    from rpy2.rinterface import FloatSexpVector

    return FloatSexpVector(values)
