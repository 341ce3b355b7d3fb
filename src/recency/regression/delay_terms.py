"""Terms of delayed effects: lags(surprisal, 4) and deconvolve(surprisal, kernel = gamma).

This module reads no data, so that formulas are checked before anything runs.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from recency.errors import InputError
from recency.mixed.expressions import CODINGS, DELAYS, Expression, names, read, written
from recency.names import nearest
from recency.regression.kernels import KERNELS

MOST = 40
"""Largest lag, in words."""
LAGS = "write lags(surprisal, 4), or lags(surprisal, 4, df = 3)"
DECONVOLVE = f"write deconvolve(surprisal, kernel = {' or '.join(KERNELS)})"


@dataclass(frozen=True)
class Lags:
    """Effects of a word and of the `most` preceding words, as a linear spline over lags.

    A linear spline is local: a sharp drop after lag 0 causes no oscillation at longer lags.

    Attributes
    ----------
    inner
        The predictor.
    most
        The largest lag, in words.
    df
        Degrees of freedom: the number of knots.
    """

    inner: Expression
    most: int
    df: int

    @cached_property
    def knots(self) -> np.ndarray:
        """The lags (df,) of the knots, denser at short lags."""
        spaced = np.expm1(np.linspace(0, np.log1p(self.most), self.df)).round().astype(int)
        for k in range(1, self.df):
            spaced[k] = min(max(spaced[k], spaced[k - 1] + 1), self.most - (self.df - 1 - k))
        return spaced

    @cached_property
    def weights(self) -> np.ndarray:
        """The function at each lag (most + 1, df), per unit of its value at each knot."""
        lags = np.arange(self.most + 1)
        return np.column_stack([np.interp(lags, self.knots, unit) for unit in np.eye(self.df)])


@dataclass(frozen=True)
class Deconvolution:
    """Effects of all words read so far by the time since their onset; inner is 1 for their rate."""

    inner: Expression
    kernel: str


def delay_of(term: str) -> Lags | Deconvolution | None:
    """Read a term of a formula; return None if it is no delayed effect.

    Raises
    ------
    InputError
        If its arguments are wrong.
    """
    expression = read(term)
    if expression.kind != "call" or expression.value not in DELAYS:
        return None
    inner, *rest = expression.parts
    numbers = [part.value for part in rest if part.kind == "number"]
    options = {part.value: part.parts[0].value for part in rest if part.kind == "option"}
    is_rate = expression.value == "deconvolve" and written(inner) == "1"
    if not (names(inner) or is_rate) or _calls(inner) & {*CODINGS, *DELAYS}:
        raise InputError(f"{term}: its first argument is a numeric predictor of words")
    if expression.value == "lags":
        return _lags(term, inner, numbers, options)
    if numbers or set(options) != {"kernel"}:
        raise InputError(f"{term}: {DECONVOLVE}")
    if options["kernel"] not in KERNELS:
        raise InputError(f"{term}: no kernel is called {nearest(options['kernel'], KERNELS)}")
    return Deconvolution(inner, options["kernel"])


def _lags(term: str, inner: Expression, numbers: list[str], options: Mapping[str, str]) -> Lags:
    if len(numbers) != 1 or set(options) - {"df"}:
        raise InputError(f"{term}: {LAGS}")
    most = _whole_number(term, "the largest lag", numbers[0], 1, MOST)
    # The default knots are at about 0, 1, 2, 4, 8 …
    given = options.get("df", str(min(most + 1, 2 + math.ceil(math.log2(most)))))
    return Lags(inner, most, _whole_number(term, "df", given, 2, most + 1))


def _whole_number(term: str, what: str, text: str, least: int, most: int) -> int:
    if not text.isdigit() or not least <= int(text) <= most:
        raise InputError(f"{term}: {what} is {text}, and is a whole number from {least} to {most}")
    return int(text)


def _calls(expression: Expression) -> set[str]:
    called = {expression.value} if expression.kind == "call" else set()
    return called.union(*map(_calls, expression.parts))


def kernels(predictors: Iterable[str]) -> list[str]:
    """Return the terms among a formula's predictors that have a kernel."""
    return [term for term in predictors if isinstance(delay_of(term), Deconvolution)]


def lag_columns(term: str, lags: Lags) -> dict[str, dict]:
    """Return the columns of a lag function: for each knot, weights of the predictor's lags."""
    stem = term.replace("`", "")
    return {
        f"`{stem}{knot}`": {"term": term, "lags": weights.tolist()}
        for knot, weights in zip(lags.knots, lags.weights.T, strict=True)
    }


def predictor_of(term: str) -> str:
    """Return the predictor of a delayed effect as in formulas; `rate` for deconvolve(1, …)."""
    inner = written(read(term).parts[0]).replace("`", "")
    return "rate" if inner == "1" else inner
