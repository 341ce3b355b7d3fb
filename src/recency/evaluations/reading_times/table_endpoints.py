"""ΔLogLik by every fitted likelihood and baseline model, next to the endpoint of the ranking.

It shows whether the ranking depends on the endpoint and, if values were published, which endpoint
reproduces them best.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from recency.endpoints import CROSSED, ENDPOINTS
from recency.evaluations.reading_times.delta_loglik import KEYS
from recency.figures import bases, comparison, papers, style, tables
from recency.figures.comparison import Comparison, Described
from recency.figures.paths import File, Files
from recency.figures.tables import Table

PRODUCTS = {
    "main": {
        "makes": {"out": ("table_endpoints", "Table of ΔLogLik by other endpoints")},
        "reads": ["delta_loglik", "others", "not_run"],
        "settings": ["lms", "responses"],
        "published": "delta_loglik",
        "when": "mixed",
    }
}
TITLES = {name: endpoint.title for name, endpoint in ENDPOINTS.items()} | {
    f"{name}_rescaled": f"{endpoint.title}, predictors rescaled"
    for name, endpoint in ENDPOINTS.items()
    if endpoint.rescaled
}
SEVERAL = 3
"""Minimum number of values for a correlation."""


def candidates(
    delta_loglik: File, others: Sequence[File], **asked
) -> dict[tuple[str, str], pd.DataFrame]:
    """Return (base, endpoint) → ΔLogLik of each LM (rows) and response (columns), in nats."""
    tables: dict[tuple[str, str], pd.DataFrame] = {}
    for path in (delta_loglik, *others):
        result = comparison.read(path, **asked)
        rows = comparison.with_responses(pd.read_csv(path), result.responses, result.lms)
        columns = {name: name.removeprefix("delta_loglik_") for name in KEYS}
        if set(rows.endpoint) == {CROSSED}:
            columns = {"delta_loglik": CROSSED} | columns
        for column, endpoint in columns.items():
            if column not in rows or rows[column].isna().all():
                continue
            table = rows.pivot(index="lm", columns="response", values=column)
            table = table.reindex(index=[lm.lm for lm in result.lms], columns=result.delta.columns)
            tables.setdefault((result.base, endpoint), table.astype(float))
    return tables


def agreement(
    tables: Mapping[tuple[str, str], pd.DataFrame], published: pd.DataFrame
) -> pd.DataFrame:
    """Return the agreement of each candidate with published values, one row per candidate.

    Columns: base, endpoint, cells (pairs of LM and response that both have), correlation (over
    these), correlation_within (mean over responses of correlations among LMs), rms_difference and
    mean_difference in nats.
    """
    rows = []
    for (base, endpoint), table in tables.items():
        lms = [lm for lm in table.index if lm in published.index]
        labels = [label for label in table.columns if label in published.columns]
        ours, theirs = (frame.loc[lms, labels].to_numpy() for frame in (table, published))
        there = np.isfinite(ours) & np.isfinite(theirs.astype(float))
        a, b = ours[there], theirs[there].astype(float)
        theirs = theirs.astype(float)
        within = [_correlation(*pair) for pair in zip(ours.T, theirs.T, strict=True)]
        within = [r for r in within if math.isfinite(r)]
        row = {"base": base, "endpoint": endpoint, "cells": len(a)}
        row["correlation"] = _correlation(a, b)
        enough = len(lms) >= SEVERAL
        row["correlation_within"] = float(np.nanmean(within)) if enough else math.nan
        row["rms_difference"] = float(np.sqrt(np.mean((a - b) ** 2))) if len(a) else math.nan
        row["mean_difference"] = float(np.mean(a - b)) if len(a) else math.nan
        rows.append(row)
    return pd.DataFrame(rows)


def _correlation(a: np.ndarray, b: np.ndarray) -> float:
    there = np.isfinite(a) & np.isfinite(b)
    if there.sum() < SEVERAL or np.ptp(a[there]) == 0 or np.ptp(b[there]) == 0:
        return math.nan
    return float(np.corrcoef(a[there], b[there])[0, 1])


def data(
    tables: Mapping[tuple[str, str], pd.DataFrame], result: Comparison, published: pd.DataFrame
) -> pd.DataFrame:
    """Return a row per candidate, LM and response: ΔLogLik and the published value, if any."""
    named = {lm.lm: lm.label for lm in result.lms}
    rows = []
    for (base, endpoint), table in tables.items():
        for lm in table.index:
            for label in table.columns:
                there = lm in published.index and label in published.columns
                rows.append(
                    {"base": base, "endpoint": endpoint, "lm": lm, "label": named[lm]}
                    | {"response": label, "delta_loglik": table.loc[lm, label]}
                    | {"published": published.loc[lm, label] if there else math.nan}
                )
    return pd.DataFrame(rows)


def layout(
    by_endpoint: Mapping[tuple[str, str], pd.DataFrame],
    result: Comparison,
    near: pd.DataFrame | None,
    title: str,
) -> Table:
    """Return a row per candidate: totals of the LMs, and agreement with published values."""
    heads = ["Baseline", "Likelihood", *(lm.label for lm in result.lms)]
    heads += ["ρ"] + (["r", "r within", "RMS"] if near is not None else [])
    ranking, rows = None, []
    for index, ((base, endpoint), table) in enumerate(by_endpoint.items()):
        totals = table[result.summed].sum(axis=1, skipna=False)
        ranking = totals if ranking is None else ranking
        same = _correlation(ranking.rank().to_numpy(), totals.rank().to_numpy())
        row = [base, TITLES.get(endpoint, endpoint)]
        row += [style.number(totals[lm.lm]) for lm in result.lms]
        row.append(style.number(same, 2, unknown=""))
        if near is not None:
            of = near.iloc[index]
            for name, digits in (
                ("correlation", 2),
                ("correlation_within", 2),
                ("rms_difference", 1),
            ):
                row.append("" if math.isnan(of[name]) else style.number(of[name], digits))
        rows.append(row)
    notes = [
        "ΔLogLik in nats, summed over the responses that every LM has; the first row ranks the LMs",
        "ρ: rank correlation of the LMs with those of the first row",
        f"baseline: {bases.NAMED['all']}; {bases.NAMED['fixed']}",
    ]
    if near is not None:
        notes.append(
            f"r, RMS: correlation and root mean square difference (nats) from the published values of "
            f"{int(near.cells.max())} LMs × responses; r within: mean correlation among LMs, by response"
        )
    return Table(title, heads, rows, notes + result.missing, left=2)


def main(
    *,
    delta_loglik: File,
    out: Files,
    lms: Described,
    responses: Described,
    others: Sequence[File] = (),
    published: File | None = None,
    not_run: File | None = None,
    title: str = "ΔLogLik by baseline model and likelihood",
) -> None:
    """Write the table to `out` (.csv tidy, .html, .tex); `published` is an LM × response CSV."""
    asked = {"lms": list(lms), "responses": list(responses), "not_run": not_run}
    result = comparison.read(delta_loglik, **asked)
    by_endpoint = candidates(delta_loglik, others, **asked)
    theirs = papers.delta(published, result.lms)
    near = agreement(by_endpoint, theirs) if len(theirs) else None
    tables.write(out, layout(by_endpoint, result, near, title), data(by_endpoint, result, theirs))
