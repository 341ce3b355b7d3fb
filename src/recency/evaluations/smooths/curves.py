"""Compare an experiment's additive models with linear ones: ΔLogLik, and each smooth and line.

Both are fitted by mgcv to the same rows with the same other terms. A predictor's smooth, and its
line, are its contributions to the response at each value, centred at the rows' mean; bands are two
standard errors wide on either side, as in mgcv.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from recency.errors import InputError
from recency.evaluations.reading_times.delta_loglik import INTERVALS, contributions, intervals
from recency.figures.paths import File, write_csv

NAMES = ("lm", "label", "dataset", "measure", "design")
COLUMNS = [
    *NAMES,
    *("predictor", "unit", "base", "edf", "ref_df", "statistic", "p", "slope", "slope_se"),
    *("delta_smooth", "delta_linear", "delta_nonlinear", *INTERVALS, "n_exploratory", "n_fit"),
    *("aic_smooth", "aic_linear", "aic_base", "converged", "note"),
]
CURVES = [*NAMES[:1], *NAMES[2:], "predictor", "kind", "x", "value", "low", "high"]
BAND = 2.0
"""Half-width of a band in standard errors."""


def main(
    full: Sequence[File],
    linear: Sequence[File],
    base: Sequence[File],
    full_observations: Sequence[File],
    linear_observations: Sequence[File],
    out: File,
    out_curves: File,
    *,
    cells: Sequence[Mapping[str, Any]],
    replicates: int = 10_000,
    seed: int = 0,
) -> None:
    """Write COLUMNS and CURVES (CSV): each smooth of interest of each of `cells` (NAMES, of_interest).

    The files are in the order of `cells`. delta_smooth and delta_linear are ΔLogLik relative to the
    base on the exploratory partition, delta_nonlinear that of the smooth relative to the line, with
    95 % intervals; they are empty without an exploratory partition. Curves have the kinds smooth,
    line and count (number of rows around x). A failed fit has only its note.
    """
    rows, curves = [], []
    for index, cell in enumerate(cells):
        names = {key: cell[key] for key in NAMES}
        fits = [json.loads(Path(paths[index]).read_text()) for paths in (full, linear, base)]
        shared = names | compared(*fits)
        parts = contributions(full_observations[index], linear_observations[index])
        shared |= intervals(parts, replicates, seed) if len(parts) else {}
        for predictor in cell["of_interest"]:
            smooth = next((s for s in fits[0]["smooths"] if s["names"] == [predictor]), None)
            if smooth is None:
                if not fits[0]["smooths"]:
                    rows.append(shared | {"predictor": predictor})
                continue
            tested = {key: smooth[key] for key in ("edf", "ref_df", "statistic", "p")}
            effect = next((e for e in fits[1]["fixed"] if e["term"] == predictor), {})
            line = {"slope": effect.get("estimate"), "slope_se": effect.get("se")}
            rows.append(shared | {"predictor": predictor} | tested | line)
            identity = {key: names[key] for key in CURVES[:4]} | {"predictor": predictor}
            described = fits[0]["predictors"][predictor]
            curves += [identity | point for point in points(smooth, described, line)]
    for path, table, columns in ((out, rows, COLUMNS), (out_curves, curves, CURVES)):
        write_csv(path, pd.DataFrame(table, columns=columns))


def compared(full: Mapping, linear: Mapping, base: Mapping) -> dict[str, Any]:
    """Return the shared properties of a cell's three fits, and their differences."""
    sizes = [fit["n"] for fit in (full, linear, base)]
    if any(size[key] != sizes[0][key] for size in sizes for key in ("fit", "exploratory")):
        raise InputError(
            f"the regressions of {full['lm']} have different observations; run them again"
        )

    def minus(a: Mapping, b: Mapping) -> float | None:
        pair = a["loglik"]["exploratory"], b["loglik"]["exploratory"]
        return None if None in pair else pair[0] - pair[1]

    observed = full["formula"].partition("~")[0].strip()
    notes = [f"{fit['model']}: {fit['note']}" for fit in (full, linear, base) if fit["note"]]
    return {
        "unit": observed if full["response"] == "raw" else f"log {observed}",
        "base": base.get("base", ""),
        "delta_smooth": minus(full, base),
        "delta_linear": minus(linear, base),
        "delta_nonlinear": minus(full, linear),
        "n_exploratory": sizes[0]["exploratory"],
        "n_fit": sizes[0]["fit"],
        "aic_smooth": full.get("aic"),
        "aic_linear": linear.get("aic"),
        "aic_base": base.get("aic"),
        "converged": all(fit["converged"] for fit in (full, linear, base)),
        "note": "; ".join(notes),
    }


def points(smooth: Mapping, described: Mapping, line: Mapping) -> list[dict[str, Any]]:
    """Return the points of a smooth, of its line, and the number of rows around each x."""
    x = np.array(smooth["x"])
    series = [("smooth", x, np.array(smooth["effect"]), np.array(smooth["se"]))]
    if line["slope"] is not None:
        away = x - described["mean"]
        series.append(("line", x, line["slope"] * away, line["slope_se"] * np.abs(away)))
    edges = np.linspace(described["least"], described["most"], len(described["counts"]) + 1)
    counts = np.array(described["counts"])
    series.append(("count", (edges[1:] + edges[:-1]) / 2, counts, np.full(len(counts), np.nan)))
    return [
        {
            "kind": kind,
            "x": float(at),
            "value": float(value),
            "low": float(value - BAND * se),
            "high": float(value + BAND * se),
        }
        for kind, xs, values, ses in series
        for at, value, se in zip(xs, values, ses, strict=True)
    ]
