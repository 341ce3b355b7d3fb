"""How the terms of a formula become columns, fixed by the fit partition: log(x), poly(x, 2), levels.

A term that is a numeric column, and `pos`, need nothing of this and have no entry here.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from recency.errors import InputError
from recency.mixed.expressions import CODINGS, Expression, evaluate, read
from recency.mixed.formula import Formula
from recency.mixed.polynomials import Basis, basis_of
from recency.regression import delay_terms
from recency.regression import predictor_names as names
from recency.regression.kernels import KERNELS, named
from recency.regression.texts import Texts, mangled, plain, word_values

SUMMED = ("surprisal", "corrected", "unigram", "length", "given_length")
"""What adds up over a region: its surprisal is exactly the sum of its words'. Of next_… the region has
its last word's; of all else, position and previous_… among it, its first word's."""
Values = Callable[[str], np.ndarray]
"""Gives a column of the data (n,) by its name."""


@dataclass(frozen=True)
class Coding:
    """What a fit keeps of its terms, so that other partitions get the same columns.

    `columns`: column → `term`, and what belongs to it of `level` (the column is its indicator),
    `mean` and `sd` (of scale), `degree`, `alpha` and `norm2` (of poly), `lags` (weights of the words
    before), `kernel` and its `parameters`. `spans`: term → columns.
    """

    columns: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    spans: Mapping[str, Sequence[str]] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    """the dataset's own columns: a row that lacks one is left out"""
    groups: tuple[str, ...] = ()
    """grouping factors, some of them known without this"""

    @property
    def categorical(self) -> dict[str, list[str]]:
        """The indicators of each categorical term."""
        return {t: list(c) for t, c in self.spans.items() if "level" in self.columns[c[0]]}

    def reads(self, predictors: Iterable[str]) -> set[str]:
        """Return the columns of the data that are needed for these predictors."""
        terms = [self.columns[p]["term"] if p in self.columns else p for p in predictors]
        return {v for t in terms for v in names.variables(t)} | {*self.needs, *self.groups}


NOTHING = Coding()


def recorded(fit: Mapping[str, Any]) -> Coding:
    """Return the coding that a fit's JSON file has."""
    groups = tuple(names.split_groups(fit["random"]))
    return Coding(fit.get("columns", {}), {}, tuple(fit.get("needs", ())), groups)


def coding_of(formula: Formula, full: Formula, texts: Texts, path: str | PathLike) -> Coding:
    """Find how the terms of `formula` are coded, from the fit partition at `path`.

    `full` is the full model's formula: its columns are what a row must have, so that full and base
    are fitted to the same rows.
    """
    needs, groups = tuple(names.own(full)), tuple(names.grouping(full))
    rows = Coding(needs=needs, groups=groups)
    expressions = {term: read(term) for term in formula.predictors}
    asked = {term: e for term, e in expressions.items() if e.kind != "name" or e.value in needs}
    asked |= {term: e for term, e in expressions.items() if _is_text(e, texts)}
    if not asked:
        return rows
    reads = {name for e in asked.values() for name in names.inputs(e)}
    wanted = reads | set(needs) | set(groups) | {"word_id", "span"}
    there = [name for name in pq.read_schema(path).names if name in wanted]
    frame, _ = complete(pd.read_parquet(path, columns=there), texts, rows, path)
    if frame.empty:
        return rows  # read_rows() says so
    counted: dict[str, pd.Series] = {}
    for term, expression in asked.items():
        kind = _kind(expression, frame, texts, path)
        if kind is not None:
            found = _argument(term, expression, kind, frame, texts, path)
            counted[term] = pd.Series(found).value_counts()
    columns: dict[str, dict[str, Any]] = {}
    spans = {}
    for term, expression in asked.items():
        if term in counted:
            made = _coded(term, expression, counted[term])
        elif (delay := delay_terms.delay_of(term)) is not None:
            made = _delayed(term, delay)
        elif expression.kind == "name":
            continue  # a number as it is
        else:
            made = {f"`{term.replace('`', '')}`": {"term": term}}
        columns |= made
        spans[term] = list(made)
    return Coding(columns, spans, needs, groups)


def complete(
    frame: pd.DataFrame, texts: Texts, coding: Coding, path: str | PathLike
) -> tuple[pd.DataFrame, dict[str, int]]:
    """Return the rows that lack none of the columns needed; how many lack which, and `rows` in all."""
    lacking = {name: pd.isna(raw(name, frame, texts, path)) for name in coding.needs}
    counts = {name: int(mask.sum()) for name, mask in lacking.items() if mask.any()}
    if not counts:
        return frame, {}
    out = np.logical_or.reduce([lacking[name] for name in counts])
    if out.all() and len(frame):
        most = max(counts, key=lambda name: counts[name])
        if counts[most] == len(frame):
            raise InputError(f"{path}: {most} is missing in each of its {len(frame):,} rows")
    return frame[~out], {"rows": int(out.sum()), **counts}


def raw(name: str, frame: pd.DataFrame, texts: Texts, path: str | PathLike) -> np.ndarray:
    """Return a column of the data (n,) for the rows of `frame`: of words, of an LM, or its own."""
    values = word_values(texts, name)
    parts = names.split(name)
    if values is not None:
        return of_span(parts.stem if not parts.shift else name, values, frame)
    if name in frame:
        return plain(frame[name])
    if name in names.EXTRA:
        raise InputError(f"the design needs {name!r}, which the dataset's words do not have")
    if parts.stem == "unigram" or parts.of_lm:
        kind = "unigram model" if parts.stem == "unigram" else "language model"
        raise InputError(f"the design needs {name!r}, but no {kind} was given")
    raise InputError(
        f"{path}: the design needs {name!r}, which neither the dataset's words nor its observations "
        "have"
    )


def of_span(name: str, values: np.ndarray, frame: pd.DataFrame) -> np.ndarray:
    """Give a predictor (n,) of responses: of their words `word_id`, or over `span` words from there.

    `values` (W,) are those of all words in reading order; NaN in a region makes its sum NaN.
    """
    word = frame["word_id"].to_numpy()
    if "span" not in frame:
        return values[word]
    span = frame["span"].to_numpy()
    if names.split(name).shift > 0:
        return values[word + span - 1]
    if names.measure_of(name) not in SUMMED:
        return values[word]
    total = values[word].astype(np.float64)
    for further in range(1, int(span.max(initial=1))):
        longer = span > further
        total[longer] += values[word[longer] + further]
    return total


def coded(column: str, spec: Mapping[str, Any], values: Values) -> np.ndarray:
    """Return a column (n,) as it was coded for the fit; `values` gives the data's columns."""
    expression = read(spec["term"])
    if "lags" in spec:
        return sum(
            weight * _finite(spec["term"], names.before(expression.parts[0], lag), values)
            for lag, weight in enumerate(spec["lags"])
            if weight
        )
    if "level" in spec:
        inner = expression.parts[0] if expression.kind == "call" else expression
        return (_levels(values(inner.value)) == spec["level"]).astype(np.float64)
    inner = expression.parts[0] if "alpha" in spec or "sd" in spec else expression
    found = _finite(spec["term"], inner, values)
    if "alpha" in spec:
        basis = Basis(tuple(spec["alpha"]), tuple(spec["norm2"]))
        return basis.values(found)[:, spec["degree"] - 1]
    return (found - spec["mean"]) / spec["sd"] if "sd" in spec else found


def _delayed(
    term: str, delay: delay_terms.Lags | delay_terms.Deconvolution
) -> dict[str, dict[str, Any]]:
    """Return a delayed effect's columns; of a kernel with parameters that are yet to be estimated."""
    if isinstance(delay, delay_terms.Lags):
        return delay_terms.lag_columns(term, delay)
    first = named(delay.kernel, KERNELS[delay.kernel].starts[0])
    about = {"term": term, "kernel": delay.kernel, "parameters": first}
    return {f"`{term.replace('`', '')}`": about}


def _is_text(expression: Expression, texts: Texts) -> bool:
    """Say whether a term is a word's column of names, but for those known to texts."""
    if expression.kind != "name" or expression.value in (*texts.predictors, *texts.categories):
        return False
    values = word_values(texts, expression.value)
    return values is not None and values.dtype == object


def _kind(
    expression: Expression, frame: pd.DataFrame, texts: Texts, path: str | PathLike
) -> str | None:
    """Say what must be known of a term's values: their `levels`, `numbers` for statistics, or not."""
    if expression.kind == "call" and expression.value in CODINGS:
        return "levels" if expression.value == "factor" else "numbers"
    if expression.kind != "name":
        return None
    return "levels" if raw(expression.value, frame, texts, path).dtype == object else None


def _argument(
    term: str, e: Expression, kind: str, frame: pd.DataFrame, texts: Texts, path: str | PathLike
) -> np.ndarray:
    def values(name: str) -> np.ndarray:
        return raw(name, frame, texts, path)

    inner = e.parts[0] if e.kind == "call" else e
    if kind == "numbers":
        return _finite(term, inner, values)
    if inner.kind != "name":
        raise InputError(f"{term}: factor() takes one column of the data")
    return _levels(values(inner.value))


def _coded(term: str, expression: Expression, counts: pd.Series) -> dict[str, dict[str, Any]]:
    """Code a term by its values' counts in the fit partition."""
    counts = counts.sort_index()
    if expression.kind == "call" and expression.value == "poly":
        degree = int(expression.parts[1].value)
        x, n = counts.index.to_numpy(np.float64), counts.to_numpy(np.float64)
        basis = basis_of(x, degree, term, n)
        about = {"term": term, "alpha": list(basis.alpha), "norm2": list(basis.norm2)}
        plain_term = term.replace("`", "")
        return {f"`{plain_term}{d}`": about | {"degree": d} for d in range(1, degree + 1)}
    if expression.kind == "call" and expression.value == "scale":
        x, n = counts.index.to_numpy(np.float64), counts.to_numpy(np.float64)
        mean = float(np.average(x, weights=n))
        sd = float(np.sqrt((n * (x - mean) ** 2).sum() / max(n.sum() - 1, 1)))
        if not sd > 0:
            raise InputError(f"{term}: its values are all the same")
        return {f"`{term.replace('`', '')}`": {"term": term, "mean": mean, "sd": sd}}
    name = expression.parts[0].value if expression.kind == "call" else expression.value
    found = {f"{name}_{mangled(level)}": {"term": term, "level": level} for level in counts.index}
    if len(found) < len(counts):
        raise InputError(f"{name}: some of its levels differ in signs alone; rename them")
    if len(found) < 2:
        raise InputError(f"{name} has one level, {counts.index[0]!r}: it can have no effect")
    return found


def _levels(values: np.ndarray) -> np.ndarray:
    if values.dtype == object:
        return values
    return np.array([f"{value:.15g}" for value in values], dtype=object)


def _finite(term: str, expression: Expression, values: Values) -> np.ndarray:
    """Evaluate an expression (n,); an InputError names the first row where it is not finite."""
    columns = {name: values(name) for name in names.inputs(expression)}
    for name, of_column in columns.items():
        if of_column.dtype == object:
            raise InputError(f"{term}: {name} has names such as {of_column[0]!r}, not numbers")
    n = len(next(iter(columns.values()))) if columns else 1
    found = np.broadcast_to(evaluate(expression, columns), (n,)).astype(np.float64)
    odd = np.flatnonzero(~np.isfinite(found))
    if len(odd):
        shown = ", ".join(f"{name} {of_column[odd[0]]:g}" for name, of_column in columns.items())
        raise InputError(
            f"{term} is {found[odd[0]]} where {shown} ({len(odd):,} such rows); filter them out or "
            "change the formula"
        )
    return found
