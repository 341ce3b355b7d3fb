"""Effects of each LM's predictors in the reader's unit, such as ms per bit of surprisal."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from recency.figures import comparison, style, tables
from recency.figures.comparison import Described
from recency.figures.paths import File, Files
from recency.figures.tables import Cell, Table
from recency.regression import predictor_names as names
from recency.regression.prediction import read_fit
from recency.scoring.measures import measure_of

PRODUCTS = {
    "main": {
        "makes": {"out": ("table_effects", "Effects in ms per bit")},
        "reads": ["fits", "not_run"],
        "settings": ["lms=lms_but_for_seed", "responses", "cells=fitted_cells"],
        "when": "mixed",
    }
}
COLUMNS = [
    "lm",
    "label",
    "response",
    "design",
    "term",
    "unit",
    "estimate",
    "se",
    "low",
    "high",
    "seeds",
]
QUANTILE = 1.959963984540054
UNITS = {"time_ms": "ms", "amplitude_uv": "µV"}


def main(
    *,
    fits: Files,
    out: Files,
    lms: Described,
    responses: Described,
    cells: Sequence[Mapping[str, str]],
    not_run: File | None = None,
    title: str = "Effects of language models' predictors",
) -> None:
    """Write the table to `out` (.csv, .html, .tex).

    Parameters
    ----------
    fits : paths
        JSON files of the full models, by cell.
    out : paths
        CSV, HTML and LaTeX.
    lms, responses : list of mapping
        LMs without duplicates for their seeds, and responses.
    cells : list of mapping
        LM without its seed (`but_for_seed`), dataset, measure and design of each fit.
    not_run : path, optional
        not_run.csv.
    """
    models, measured = comparison.records(lms, responses)
    labels = comparison.response_labels(measured)
    rows = effects([read_fit(path) for path in fits], cells)
    rows["label"] = rows.lm.map({lm.lm: lm.label for lm in models})
    keys = zip(rows.dataset, rows.measure, strict=True)
    rows["response"] = [labels[key] for key in keys]
    grid, rules, before = [], [], None
    for (response, _, term), part in rows.groupby(["response", "design", "term"], sort=False):
        if before not in (None, response):
            rules.append(len(grid))
        before = response
        for row in part.itertuples():
            excludes_zero = row.low > 0 or row.high < 0
            ends = (style.interval(row.low, row.high, style.number, decimals=2),)
            value = Cell(style.number(row.estimate, 2), ends, bold=bool(excludes_zero))
            grid.append([response, row.label, term, row.unit, value])
    reasons = comparison.reasons(not_run)
    absent = [r for r in measured if labels[r.dataset, r.measure] not in set(rows.response)]
    notes = [
        (
            "Fixed effects of the full model, fitted to the fit partition, per unit of the unscaled predictor; "
            "beneath, the 95 % interval (Wald); bold where it excludes zero"
        ),
        *comparison.absent_responses(absent, reasons),
    ]
    if rows.seeds.max() > 1:
        notes.insert(1, "Means over training seeds, whose variation the intervals include")
    header = ["Response", "LM", "Predictor", "Unit", "Effect"]
    tables.write(out, Table(title, header, grid, notes, tuple(rules), left=4), rows[COLUMNS])


def effects(fits: Sequence[Mapping[str, Any]], cells: Sequence[Mapping[str, str]]) -> pd.DataFrame:
    """Return the effects of the LM's plain predictors, averaged over seeds: lm, dataset, measure and COLUMNS.

    A term of several predictors, or of a function of one, has no unit of its own and is left out. The
    variance of a mean over S seeds is the mean of the fits' plus the seeds' divided by S.
    """
    found: dict[tuple[str, ...], list[tuple[float, float]]] = {}
    for fit, cell in zip(fits, cells, strict=True):
        unit = _unit(fit)
        for effect in fit.get("fixed", ()):
            scaling = fit.get("scaling", {}).get(effect["term"])
            if scaling is None or not names.is_of_fitted_lm(effect["term"]):
                continue
            key = tuple(cell[name] for name in ("but_for_seed", "dataset", "measure", "design"))
            found.setdefault(
                (*key, effect["term"], f"{unit} per {_unit_of_measure(effect['term'])}"), []
            ).append((effect["estimate"] / scaling["sd"], effect["se"] / scaling["sd"]))
    rows = []
    for (lm, dataset, measure, design, term, unit), parts in found.items():
        estimates, errors = np.array(parts).T
        S = len(estimates)
        between = estimates.var(ddof=1) / S if S > 1 else 0.0
        value, se = float(estimates.mean()), math.sqrt(float((errors**2).mean()) + between)
        ends = {"low": value - QUANTILE * se, "high": value + QUANTILE * se}
        about = {"lm": lm, "dataset": dataset, "measure": measure, "design": design}
        about |= {"term": term, "unit": unit}
        rows.append(about | {"estimate": value, "se": se, **ends, "seeds": S})
    more = ["dataset", "measure"]
    return pd.DataFrame(
        rows, columns=[*more, *(c for c in COLUMNS if c not in ("label", "response"))]
    )


def _unit_of_measure(term: str) -> str:
    """Return the unit of an LM's measure, by its declaration; a rank or a share has none of its own."""
    stem = names.measure_of(names.split(term).stem)
    if stem in ("tokens", "context_tokens"):
        return "token"
    if stem in ("corrected", "foil_surprisal") or stem.startswith("surprisal"):
        return "bit"
    power = measure_of(stem).unit
    return {0: "unit", 1: "bit"}.get(power, f"bit^{power}")


def _unit(fit: Mapping[str, Any]) -> str:
    """Return the unit of a fit's response."""
    response = fit.get("formula", "time_ms ~").partition("~")[0].strip()
    unit = UNITS.get(response, response)
    return f"log {unit}" if fit.get("response") == "log" else unit
