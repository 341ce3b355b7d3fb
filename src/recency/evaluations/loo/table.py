"""Elpd of Bayesian models by PSIS-LOO, relative to their baseline models, with diagnostics."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from recency.figures import style, tables
from recency.figures.paths import File, Files
from recency.figures.tables import Cell, Table
from recency.regression.prediction import read_fit

PRODUCT = {
    "makes": {"out": ("table_loo", "Leave-one-out cross-validation of Bayesian models")},
    "reads": ["full", "base", "full_observations", "base_observations"],
    "settings": ["cells", "title"],
}
COLUMNS = ["lm", "label", "response", "dataset", "measure", "design", "n", "elpd_difference", "se"]
COLUMNS += ["elpd", "bad_k", "bad_k_base", "rhat", "divergences", "note"]
NOTE = (
    "elpd difference: expected log predictive density of left-out observations (PSIS-LOO), full model minus "
    "baseline model, nats, ± its standard error. Pareto k above 0.7: observations whose estimate is unreliable, "
    "in both models; the fits' JSON lists them. R-hat: the maximum over both models."
)


def main(
    *,
    full: Sequence[File],
    base: Sequence[File],
    full_observations: Sequence[File],
    base_observations: Sequence[File],
    cells: Sequence[Mapping],
    out: Files,
    title: str = "PSIS-LOO",
) -> None:
    """Write the table to `out` (.csv tidy, .html, .tex): one row per response and LM."""
    files = zip(cells, full, base, full_observations, base_observations, strict=True)
    rows = pd.DataFrame([row(*file) for file in files], columns=COLUMNS)
    tables.write(out, layout(rows, title), rows)


def row(
    cell: Mapping, full: File, base: File, full_observations: File, base_observations: File
) -> dict:
    """Return COLUMNS of one response and LM; NaN if a model was not fitted."""
    fits = [read_fit(full), read_fit(base)]
    note = "; ".join(
        f"{which} model: {fit['note']}"
        for which, fit in zip(("full", "baseline"), fits, strict=True)
        if fit["note"]
    )
    result = dict(cell) | {"n": fits[0]["n"]["fit"], "note": note}
    if not all("brms" in fit for fit in fits):
        return result
    parts = [_elpd(path) for path in (full_observations, base_observations)]
    difference = parts[0] - parts[1]
    about = [fit["brms"] for fit in fits]
    return result | {
        "elpd_difference": difference.sum(),
        "se": math.sqrt(len(difference)) * difference.std(ddof=1),
        "elpd": parts[0].sum(),
        "bad_k": len(about[0]["loo"]["bad_k"]),
        "bad_k_base": len(about[1]["loo"]["bad_k"]),
        "rhat": max(summary["rhat"] for summary in about),
        "divergences": sum(summary["divergences"] for summary in about),
    }


def _elpd(path: File) -> np.ndarray:
    """Return elpd (n,) of each fitted row."""
    table = pd.read_parquet(path)
    return table.loc[table["partition"] == "fit", "loglik_in_sample"].to_numpy()


def layout(rows: pd.DataFrame, title: str) -> Table:
    """Return a table with one row per response and LM."""
    header = ["Response", "LM", "n", "elpd difference", "Pareto k > 0.7", "R-hat", "divergences"]
    grid = [
        [
            f"{row.response} {row.measure}",
            row.label,
            f"{row.n:,}",
            Cell(style.signed(row.elpd_difference), (f"± {style.number(row.se)}",)),
            "" if math.isnan(row.bad_k) else f"{row.bad_k:.0f}, {row.bad_k_base:.0f}",
            style.number(row.rhat, 3),
            "" if math.isnan(row.divergences) else f"{row.divergences:.0f}",
        ]
        for row in rows.itertuples()
    ]
    notes = [f"{r.response} {r.measure}, {r.label}: {r.note}." for r in rows.itertuples() if r.note]
    return Table(title, header, grid, [NOTE, *notes], left=("Response", "LM"))
