"""Code the terms of a formula as columns, fixed by the fit partition: log(x), poly(x, 2), factors.

A term that is a numeric column, and `pos`, have no entry here.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from crosslmm.design import Basis, basis_of
from crosslmm.expressions import CODINGS, Expression, evaluate, read
from crosslmm.formula import Formula
from recency.errors import InputError
from recency.regression import predictor_names as names
from recency.regression.texts import (
    Texts,
    as_identifier,
    fixated_values,
    plain,
    reader_values,
    word_values,
)

SUMMED = ("surprisal", "corrected", "unigram", "length", "given_length")
"""Measures that are summed over a region of words. next_… has the value of the region's last word;
all others, position and previous_… among them, that of its first."""
Values = Callable[[str], np.ndarray]
"""Returns a column of the data (n,) by its name."""


@dataclass(frozen=True)
class Coding:
    """The coding of a fit's terms, stored so that other partitions get the same columns.

    `columns` maps each column to its `term` and those of these that apply: `level` (the column is
    its indicator), `mean` and `sd` (scale), `degree`, `alpha` and `norm2` (poly). `spans` maps each term to its columns.
    """

    columns: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    spans: Mapping[str, Sequence[str]] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    """the dataset's own columns; rows that lack a value in one are dropped"""
    groups: tuple[str, ...] = ()
    """grouping factors, also those that every dataset has"""

    @property
    def categorical(self) -> dict[str, list[str]]:
        """The indicators of each categorical term."""
        return {t: list(c) for t, c in self.spans.items() if "level" in self.columns[c[0]]}

    def reads(self, predictors: Iterable[str]) -> set[str]:
        """Return the columns of the data that these predictors need."""
        terms = [self.columns[p]["term"] if p in self.columns else p for p in predictors]
        return {v for t in terms for v in names.variables(t)} | {*self.needs, *self.groups}


NO_CODING = Coding()


def coding_from_record(fit: Mapping[str, Any]) -> Coding:
    """Return the coding stored in a fit's JSON file."""
    groups = tuple(names.split_groups(fit["random"]))
    return Coding(fit.get("columns", {}), {}, tuple(fit.get("needs", ())), groups)


def coding_of(formula: Formula, full: Formula, texts: Texts, path: str | PathLike) -> Coding:
    """Return the coding of the terms of `formula`, from the fit partition at `path`.

    `full` is the full model's formula. Rows must have all of its columns, so that the full and the
    base model are fitted to the same rows.
    """
    needs, groups = tuple(names.dataset_columns(full)), tuple(names.grouping(full))
    rows = Coding(needs=needs, groups=groups)
    expressions = {term: read(term) for term in formula.predictors}
    asked = {term: e for term, e in expressions.items() if e.kind != "name" or e.value in needs}
    asked |= {term: e for term, e in expressions.items() if _is_text(e, texts)}
    if not asked:
        return rows
    reads = {name for e in asked.values() for name in names.inputs(e)}
    wanted = reads | set(needs) | set(groups) | {"word_id", "span"}
    there = [name for name in pq.read_schema(path).names if name in wanted]
    frame, _ = drop_incomplete(pd.read_parquet(path, columns=there), texts, rows, path)
    if frame.empty:
        return rows  # read_rows() reports it
    counted: dict[str, pd.Series] = {}
    for term, expression in asked.items():
        kind = _kind(expression, frame, texts, path)
        if kind is not None:
            values = _argument(term, expression, kind, frame, texts, path)
            counted[term] = pd.Series(values).value_counts()
    columns: dict[str, dict[str, Any]] = {}
    spans = {}
    for term, expression in asked.items():
        if term in counted:
            of_term = _code_term(term, expression, counted[term])
        elif expression.kind == "name":
            continue  # a number as it is
        else:
            of_term = {f"`{term.replace('`', '')}`": {"term": term}}
        columns |= of_term
        spans[term] = list(of_term)
    return Coding(columns, spans, needs, groups)


def drop_incomplete(
    frame: pd.DataFrame, texts: Texts, coding: Coding, path: str | PathLike
) -> tuple[pd.DataFrame, dict[str, int]]:
    """Return the rows without missing values, and the number missing by column and of `rows`."""
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
    """Return a column (n,) for the rows of `frame`: of the words, an LM, or the observations."""
    if (of_readers := reader_values(texts, name, frame)) is not None:
        return of_readers
    if (of_fixated := fixated_values(texts, name, frame, path)) is not None:
        return of_fixated
    values = word_values(texts, name)
    parts = names.split(name)
    if values is not None:
        return values_over_span(parts.stem if not parts.shift else name, values, frame)
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


def values_over_span(name: str, values: np.ndarray, frame: pd.DataFrame) -> np.ndarray:
    """Return a predictor (n,) of responses: at the word `word_id`, or over a region of `span` words.

    `values` (W,) are those of all words in reading order; a NaN in a region makes its sum NaN.
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
    """Return a column (n,) with the fit's coding; `values` returns columns of the data."""
    expression = read(spec["term"])
    if "level" in spec:
        inner = expression.parts[0] if expression.kind == "call" else expression
        return (_levels(values(inner.value)) == spec["level"]).astype(np.float64)
    inner = expression.parts[0] if "alpha" in spec or "sd" in spec else expression
    x = _finite(spec["term"], inner, values)
    if "alpha" in spec:
        basis = Basis(tuple(spec["alpha"]), tuple(spec["norm2"]))
        return basis.values(x)[:, spec["degree"] - 1]
    return (x - spec["mean"]) / spec["sd"] if "sd" in spec else x


def _is_text(expression: Expression, texts: Texts) -> bool:
    """Return whether a term is a text column of the words other than `texts`' categories."""
    if expression.kind != "name" or expression.value in (*texts.predictors, *texts.categories):
        return False
    values = word_values(texts, expression.value)
    return values is not None and values.dtype == object


def _kind(
    expression: Expression, frame: pd.DataFrame, texts: Texts, path: str | PathLike
) -> str | None:
    """Return the values that a term's coding depends on: its `levels`, its `numbers`, or None."""
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


def _code_term(term: str, expression: Expression, counts: pd.Series) -> dict[str, dict[str, Any]]:
    """Code a term from the counts of its values in the fit partition."""
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
    specs = {
        f"{name}_{as_identifier(level)}": {"term": term, "level": level} for level in counts.index
    }
    if len(specs) < len(counts):
        raise InputError(f"{name}: some of its levels differ only in punctuation; rename them")
    if len(specs) < 2:
        raise InputError(f"{name} has one level, {counts.index[0]!r}: it can have no effect")
    return specs


def _levels(values: np.ndarray) -> np.ndarray:
    if values.dtype == object:
        return values
    return np.array([f"{value:.15g}" for value in values], dtype=object)


def _finite(term: str, expression: Expression, values: Values) -> np.ndarray:
    """Evaluate an expression (n,); raise an InputError at the first row where it is not finite."""
    columns = {name: values(name) for name in names.inputs(expression)}
    for name, of_column in columns.items():
        if of_column.dtype == object:
            raise InputError(f"{term}: {name} has names such as {of_column[0]!r}, not numbers")
    n = len(next(iter(columns.values()))) if columns else 1
    result = np.broadcast_to(evaluate(expression, columns), (n,)).astype(np.float64)
    odd = np.flatnonzero(~np.isfinite(result))
    if len(odd):
        shown = ", ".join(f"{name} {of_column[odd[0]]:g}" for name, of_column in columns.items())
        raise InputError(
            f"{term} is {result[odd[0]]} where {shown} ({len(odd):,} such rows); filter them out or "
            "change the formula"
        )
    return result
