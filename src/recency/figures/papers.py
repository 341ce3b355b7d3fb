"""Published values (data/published/), matched by an LM's bias, not by its name.

A table's `applied`, `form` and `parameters` identify the bias of a row, matched by
recency.figures.encoding; its `lm` is the paper's name. A table of surprisal has no known bias: it
is the LM named in its `published_as`. N-grams and mixes are not in the papers.
"""

import math
from collections.abc import Iterable

import pandas as pd

from recency.errors import InputError
from recency.figures import bases, comparison, encoding
from recency.figures.comparison import LM, Comparison
from recency.figures.intervals import TOTAL
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


def compared(published: pd.DataFrame, result: Comparison) -> pd.DataFrame:
    """Return the published ΔLogLik of each LM and response, "Total" last, indexed by both.

    Columns `base` (of the value here), `published`, `published_base`, `published_endpoint`, and `difference`, of
    the value here from the published one, which is given only if both have the same baseline model and endpoint.
    """
    of_base = {**result.bases, TOTAL: bases.of(result.bases[label] for label in result.summed)}
    totals, rows = result.totals, []
    for lm in result.lms:
        values = result.delta.loc[lm.lm].to_dict()
        if len(totals):
            values[TOTAL] = totals[lm.lm]
        for label, value in values.items():
            listed = lm.lm in published.index and label in published.columns
            there = float(published.loc[lm.lm, label]) if listed else math.nan
            if label == TOTAL:
                there = total(published, lm.lm, result.summed)
            base, by = "", ""
            if not math.isnan(there):
                base, by = published.base[lm.lm], published.endpoint[lm.lm]
            same = (base, by) == (of_base[label], result.endpoint)
            difference = value - there if same else math.nan
            rows.append([lm.lm, label, of_base[label], base, by, there, difference])
    names = ["lm", "response", "base", "published_base", "published_endpoint", "published"]
    names += ["difference"]
    return pd.DataFrame(rows, columns=names).set_index(["lm", "response"])


def totals(path: File | None, result: Comparison) -> pd.DataFrame:
    """Return `published` and `difference` of the total of each LM, indexed by lm."""
    table = compared(delta(path, result.lms), result).reset_index()
    of_total = table[table.response == TOTAL].set_index("lm")
    return of_total.reindex([lm.lm for lm in result.lms])[["published", "difference"]]


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
