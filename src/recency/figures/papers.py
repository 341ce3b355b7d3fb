"""Values that papers published (data/published/), found by an LM's bias, never by its name.

A table's `applied`, `form` and `parameters` say of which bias a row is, as recency.figures.encoding
matches them; its `lm` is the paper's own name. A table of surprisals has no bias that is known here: it
is the LM of that name which its `published_as` states. N-grams and mixes are none of the papers'.
"""

from collections.abc import Iterable

import pandas as pd

from recency.errors import InputError
from recency.figures import comparison, encoding
from recency.figures.comparison import LM
from recency.figures.paths import File

KEY = ["lm", "applied", "form", "parameters"]


def rows(path: File, lms: Iterable[LM], columns: Iterable[str] = ()) -> pd.DataFrame:
    """Read a published table: the rows of each of `lms`, with its key as `lm`.

    Raises InputError for a table without one of `columns`.
    """
    remedy = "data/published/README.md says what a published table must have"
    table = comparison.table(path, [*KEY, *columns], remedy)
    table["parameters"] = table.parameters.astype(object).fillna("")
    parts = [table[:0]]
    for lm in lms:
        is_of_lm = [_is_of(lm, row) for row in table[KEY].itertuples(index=False)]
        parts.append(table[is_of_lm].assign(lm=lm.lm))
    return pd.concat(parts, ignore_index=True).drop(columns=KEY[1:])


def _is_of(lm: LM, row) -> bool:
    """Whether a row of a published table is of an LM."""
    if "table" in lm.network:
        return row.lm == lm.network["table"].get("published_as")
    if lm.network.keys() & {"ngram", "mix"}:
        return False
    return row.applied == lm.applied and encoding.matches(lm.bias, row.form, str(row.parameters))


def delta(path: File | None, lms: Iterable[LM]) -> pd.DataFrame:
    """Read a published LM × response table, indexed by the keys of `lms`; empty without one.

    Its columns `base` and `endpoint` name the baseline model of each LM's ΔLogLik (fixed or all) and the
    likelihood (recency.endpoints); the others are nats.
    """
    if path is None:
        return pd.DataFrame()
    table = rows(path, lms, ["base", "endpoint"])
    if table.lm.duplicated().any():
        raise InputError(f"{path}: two rows have one bias; give each its `parameters`")
    if odd := set(table.base) - {"fixed", "all"}:
        raise InputError(f"{path}: base is {min(map(str, odd))!r} and must be fixed or all")
    table = table.set_index("lm")
    return table.astype(dict.fromkeys(table.columns.drop(["base", "endpoint"]), float))


def total(published: pd.DataFrame, lm: str, summed: list[str]) -> float:
    """Give an LM's published total over just the responses `summed`; NaN unless all were published.

    The printed total stands where every response of the table is in, since it was rounded once.
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
