"""Designs of the config: the formula of a regression, all its names checked."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from recency.errors import InputError
from recency.mixed import formula as formulas
from recency.mixed.expressions import written
from recency.mixed.formula import Formula, without
from recency.reading.contracts import RESPONSES
from recency.regression import names

SURPRISAL = {"plain": "surprisal_bits", "corrected": "corrected_bits"}
CHOICES = {
    "base": ("fixed", "all"),
    "engine": ("cross_products", "lme4", "ols"),
    "response": ("raw", "log"),
    "surprisal": tuple(SURPRISAL),
}
SPILLOVER = ("item", "sentence")
"""What a word before or after another one must share with it; the first unless a design says so."""


def parse(text: str, mixed: bool = True) -> Formula:
    """Read a formula of times or amplitudes; a mixed model has random terms, any other none."""
    formula = formulas.parse(names.quoted(text))
    if formula.response not in RESPONSES:
        raise InputError(
            f"formula {text!r}: the left side is {formula.response!r} and must be "
            f"{' or '.join(RESPONSES)} (for the logarithm of a time set `response: log` in the "
            "design)"
        )
    if mixed and not formula.random:
        raise InputError(
            f"formula {text!r} has no random term such as '(1 | subject)'; "
            "for least squares on subject means set `engine: ols` in the design"
        )
    if formula.random and not mixed:
        raise InputError(
            f"formula {text!r} has a random term, and `engine: ols` knows none; leave "
            f"{formula.random[0]} out or take the engine cross_products"
        )
    return formula


def read(design: Mapping[str, Any]) -> Formula:
    """Read a design's formula; its names may be any."""
    return parse(design["formula"], mixed=design["engine"] != "ols")


def formula_of(
    design: Mapping[str, Any],
    model: str,
    columns: Mapping[str, Collection[str]] | None = None,
    beside: str | None = None,
) -> Formula:
    """Return the formula of the full or the base model, all its names checked.

    `columns` are the dataset's own, of `words` and of `responses`. The base lacks what is of
    interest and, where all LMs share it (`base: all`), everything else that the LM gives. With
    `beside`, another LM, the full model has its terms too.
    """
    for key, choices in (*CHOICES.items(), ("spillover", SPILLOVER)):
        if key in design and design[key] not in choices:
            raise InputError(
                f"design: {key} is {design[key]!r} and must be one of {', '.join(choices)}"
            )
    if model not in ("full", "base"):
        raise InputError(f"model is {model!r} and must be 'full' or 'base'")
    formula = read(design)
    if design["response"] == "log" and formula.response != "time_ms":
        raise InputError(
            f"design: {formula.response} has no logarithm, since amplitudes are below 0 as well; "
            "set `response: raw` in the design"
        )
    columns = columns or {}
    names.check(formula, columns)
    of_lm = names.of_its_lm(formula, columns)
    shared = design["base"] == "all"
    interest = [term_of(text) for text in design["of_interest"]]
    base = without(formula, interest, slopes=shared, also=of_lm if shared else ())
    if model == "base":
        return base
    return names.with_lm(formula, of_lm, beside) if beside is not None else formula


def term_of(text: str) -> str:
    """Write a name or term of `of_interest` as formulas write it."""
    reader = formulas.Reader(names.quoted(text))
    parts = [written(reader.expression())]
    while reader.next == ":":
        reader.take()
        parts.append(written(reader.expression()))
    if reader.next:
        raise InputError(f"of_interest has {text!r}, which is no term of a formula")
    return ":".join(parts)


def columns_there(
    words: str | PathLike, observations: str | PathLike | None
) -> dict[str, list[str]]:
    """Return the columns of two Parquet files; none of one that is not there."""
    import pyarrow.parquet as pq

    files = {"words": words, "responses": observations}
    return {
        name: pq.read_schema(path).names if path is not None and Path(path).exists() else []
        for name, path in files.items()
    }
