"""Published values (data/published/), matched by an LM's bias, not by its name.

A table's `applied`, `form` and `parameters` identify the bias of a row, matched by
recency.figures.encoding; its `lm` is the paper's name. A table of surprisal has no known bias: it
is the LM named in its `published_as`. N-grams and mixes are not in the papers.
"""

from collections.abc import Iterable

import pandas as pd

from recency.errors import InputError
from recency.figures import comparison, encoding
from recency.figures.comparison import LM
from recency.figures.paths import File

KEY = ["lm", "applied", "form", "parameters"]


def rows(path: File, lms: Iterable[LM], columns: Iterable[str] = ()) -> pd.DataFrame:
    """Read the rows of each of `lms` from a published table, with its key as `lm`.

    Raises InputError for a table without one of `columns`.
    """
    remedy = "data/published/README.md describes the required columns"
    table = comparison.table(path, [*KEY, *columns], remedy)
    table["parameters"] = table.parameters.astype(object).fillna("")
    parts = [table[:0]]
    for lm in lms:
        is_of_lm = [_is_of(lm, row) for row in table[KEY].itertuples(index=False)]
        parts.append(table[is_of_lm].assign(lm=lm.lm))
    return pd.concat(parts, ignore_index=True).drop(columns=KEY[1:])


def _is_of(lm: LM, row) -> bool:
    """Return whether a row of a published table is for an LM."""
    if "table" in lm.network:
        return row.lm == lm.network["table"].get("published_as")
    if lm.network.keys() & {"ngram", "mix"}:
        return False
    return row.applied == lm.applied and encoding.matches(lm.bias, row.form, str(row.parameters))


def delta(path: File | None, lms: Iterable[LM]) -> pd.DataFrame:
    """Read a published LM × response table, indexed by the keys of `lms`; empty without one.

    Its columns `base` and `endpoint` name the baseline model of each LM's ΔLogLik (fixed or all)
    and the likelihood (recency.endpoints); the others are in nats.
    """
    if path is None:
        return pd.DataFrame()
    table = rows(path, lms, ["base", "endpoint"])
    if table.lm.duplicated().any():
        raise InputError(f"{path}: two rows have the same bias; add their `parameters`")
    if odd := set(table.base) - {"fixed", "all"}:
        raise InputError(f"{path}: base is {min(map(str, odd))!r} but must be fixed or all")
    table = table.set_index("lm")
    return table.astype(dict.fromkeys(table.columns.drop(["base", "endpoint"]), float))


def total(published: pd.DataFrame, lm: str, summed: list[str]) -> float:
    """Return an LM's published total over the responses `summed`, NaN unless all were published.

    The printed total is used if all responses of the table are included, since it was rounded once.
    """
    if lm not in published.index or not summed or not set(summed) <= set(published.columns):
        return float("nan")
    if "Total" in published.columns and set(summed) == set(published.columns) - {
        "Total",
        "base",
        "endpoint",
    }:
        return float(published.loc[lm, "Total"])
    return float(published.loc[lm, summed].sum(skipna=False))
