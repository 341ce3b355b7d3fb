"""A rule on designs: predictors that are a linear combination of others."""

import zlib
from collections.abc import Iterator, Sequence

import numpy as np

from crosslmm.expressions import Expression, evaluate, names, read, written
from crosslmm.formula import INTERCEPT, factors
from recency.errors import REFUSALS, InputError
from recency.regression.predictor_names import CATEGORICAL, before, measure_of, split
from recency.workflow.lint import Finding, Plan

RULES = {
    "dependent_predictors": {
        "warns": "Predictors that are a linear combination of others",
        "table": "designs",
        "why": "Of linearly dependent predictors one has no effect of its own: it is dropped, and which one depends on their order.",
        "reference": "Belsley, Kuh & Welsch (1980), Regression Diagnostics, chapter 3",
        "noted": ["depend on others", "rank deficient"],
    },
}


ROWS = 97
TOLERANCE = 1e-9
#: Predictors that are never negative.
POSITIVE = ("length", "position", "unigram", "surprisal", "given_length", "foil_length", "tokens")


def dependent_predictors(plan: Plan) -> Iterator[Finding]:
    """Yield designs with a fixed effect, or a slope, that depends on others for any data."""
    for name, design in plan.designs.items():
        parts = [(design.formula.fixed, "")]
        parts += [(t.columns, f" by {t.group}") for t in getattr(design.formula, "random", ())]
        for terms, of in parts:
            for column, others in dependent(terms):
                yield Finding(
                    name,
                    "formula",
                    f"{column}{of} is a linear combination of {' and '.join(others)}",
                    f"remove {column}",
                )


def dependent(terms: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Return the columns that depend on earlier ones for any data, with those that they depend on.

    Parameters
    ----------
    terms : sequence of str
        Columns of a formula, including the intercept. Columns with factors or kernels are skipped.

    Returns
    -------
    list of (str, list of str)
        Column, and the columns of which it is a linear combination.
    """
    kept: dict[str, np.ndarray] = {}
    found = []
    for name, values in _columns(terms):
        size = np.linalg.norm(values)
        if kept and size:
            matrix = np.stack([column / np.linalg.norm(column) for column in kept.values()], axis=1)
            weights = np.linalg.lstsq(matrix, values / size, rcond=None)[0]
            if np.linalg.norm(values / size - matrix @ weights) < TOLERANCE:
                used = [other for other, w in zip(kept, weights, strict=True) if abs(w) > TOLERANCE]
                found.append((name, [other for other in used if other != INTERCEPT] or [INTERCEPT]))
                continue
        if size:
            kept[name] = values
    return found


def _columns(terms: Sequence[str]) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the name and values of each column, for random values of the predictors."""
    for term in terms:
        values = [(term, np.ones(ROWS))]
        for factor in factors(term):
            try:
                of_factor = _values(read(factor))
            except REFUSALS:  # a factor, a kernel, or text
                values = []
                break
            values = [
                (n if n == term and len(of_factor) == 1 else f"{n}, {m}" if n != term else m, v * w)
                for n, v in values
                for m, w in of_factor
            ]
        yield from ((n, v) for n, v in values if np.isfinite(v).all())


def _values(expression: Expression) -> list[tuple[str, np.ndarray]]:
    """Return the columns of one factor of a term."""
    if any(split(name).stem in CATEGORICAL for name in names(expression)):
        raise InputError("categorical")
    if expression.kind == "call" and expression.value in ("scale", "poly"):
        inner, *numbers = expression.parts
        if expression.value == "scale":
            return [(written(expression), _evaluate_expression(inner))]
        number = next((int(p.value) for p in numbers if p.kind == "number"), 0)
        if expression.value == "poly":
            x = _evaluate_expression(inner)
            return [(f"{written(expression)}{k}", x**k) for k in range(1, number + 1)]
        lagged = [before(inner, lag) for lag in range(number + 1)]
        return [(written(part), _evaluate_expression(part)) for part in lagged]
    return [(written(expression), _evaluate_expression(expression))]


def _evaluate_expression(expression: Expression) -> np.ndarray:
    """Return the values of an expression, with positive predictors if others give none."""
    for positive in (False, True):
        data = {name: _draw_values(name, positive) for name in names(expression)}
        values = evaluate(expression, data) * np.ones(ROWS)
        if np.isfinite(values).all():
            break
    return values


def _draw_values(name: str, positive: bool) -> np.ndarray:
    """Return random values of a predictor, the same for the same predictor.

    Positions of neighbouring words differ by their distance.
    """
    parts = split(name)
    stem = measure_of(parts.stem)
    shift = 0 if stem == "position" else parts.shift
    seed = zlib.crc32(f"{stem} {shift} {parts.lm}".encode())
    values = np.random.default_rng(seed).normal(size=ROWS)
    if positive or stem in POSITIVE:
        values = 1 + np.abs(values)
    return values + (parts.shift if stem == "position" else 0)
