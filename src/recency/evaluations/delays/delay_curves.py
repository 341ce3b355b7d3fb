"""Collect the response functions of an experiment's delayed effects, with their 95 % intervals."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from scipy.stats import norm

from recency.figures.paths import File, write_csv

NAMES = ("lm", "label", "dataset", "measure", "design")
COLUMNS = [
    *NAMES,
    *("term", "predictor", "kind", "unit", "cumulative", "low", "high"),
    *(
        "coefficient",
        "coefficient_low",
        "coefficient_high",
        "parameters",
        "n_fit",
        "converged",
        "note",
    ),
]
CURVES = [*NAMES[:1], *NAMES[2:], "term", "predictor", "kind", "x", "value", "low", "high"]
WIDTH = float(norm.ppf(0.975))
"""Half-width of a 95 % interval in standard errors."""


def main(full: Sequence[File], out: File, out_curves: File, *, cells: Sequence[Mapping[str, Any]]):
    """Write COLUMNS, one row per delayed effect, and CURVES, one row per lag or delay (CSV).

    The fits `full` are in the order of `cells` (NAMES). x is in words (kind `lags`) or seconds,
    values are in the response's unit per unit of the predictor. `cumulative` is the effect of one
    more unit at every word. The row of a failed fit has its note.
    """
    rows, curves = [], []
    for path, cell in zip(full, cells, strict=True):
        fit, names = json.loads(Path(path).read_text()), {key: cell[key] for key in NAMES}
        observed = fit["formula"].partition("~")[0].strip()
        shared = names | {
            "unit": observed if fit["response"] == "raw" else f"log {observed}",
            "n_fit": fit["n"]["fit"],
            "converged": fit["converged"],
            "note": fit["note"],
        }
        rows += [shared] if not fit.get("delays") else []
        for effect in fit.get("delays", []):
            notes = [text for text in (fit["note"], effect.get("note")) if text]
            about = {key: effect[key] for key in ("term", "predictor", "kind")}
            rows.append(shared | about | _summed(effect) | {"note": "; ".join(notes)})
            identity = {key: names[key] for key in CURVES[:4]} | about
            curves += [
                identity
                | {"x": x, "value": value, "low": value - WIDTH * se, "high": value + WIDTH * se}
                for x, value, se in zip(effect["x"], effect["effect"], effect["se"], strict=True)
                if value is not None and se is not None
            ]
    for path, table, columns in ((out, rows, COLUMNS), (out_curves, curves, CURVES)):
        write_csv(path, pd.DataFrame(table, columns=columns))


def _summed(effect: Mapping[str, Any]) -> dict[str, Any]:
    """Return the cumulative effect over all delays, and a kernel's parameters as text."""

    def ends(name: str, low: str, high: str) -> dict[str, float]:
        value, se = effect[name], effect[f"{name}_se"]
        if se is None:
            return {name: value}
        return {name: value, low: value - WIDTH * se, high: value + WIDTH * se}

    summary = ends("cumulative", "low", "high")
    if "parameters" in effect:
        summary |= ends("coefficient", "coefficient_low", "coefficient_high")
        summary["parameters"] = ", ".join(f"{n} {v:.3g}" for n, v in effect["parameters"].items())
    return summary
