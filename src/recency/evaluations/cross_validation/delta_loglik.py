"""Collect an experiment's cross-validated fits: ΔLogLik, full minus base, one row per cell.

delta_loglik is over all observations, each scored by the fit without its fold; the variance of
effects of levels that this fit has not seen is added to the residual variance.
delta_loglik_at_zero sets these effects to 0; delta_loglik_marginal integrates out the effects of
a fold's levels jointly. The 95 % intervals of delta_loglik resample subjects or sentences with
all of their observations. Natural logarithm.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from recency.errors import InputError
from recency.evaluations.reading_times.delta_loglik import INTERVALS, contributions, intervals
from recency.figures.paths import File, write_csv

NAMES = ("lm", "label", "dataset", "measure", "design")
COLUMNS = [
    *(*NAMES, "by", "folds", "seed", "unit", "base", "n"),
    *("delta_loglik", "delta_loglik_per_observation"),
    *("delta_loglik_at_zero", "delta_loglik_marginal", *INTERVALS),
    *("folds_better", "converged", "note"),
]


def main(
    full: Sequence[File],
    base: Sequence[File],
    full_observations: Sequence[File],
    base_observations: Sequence[File],
    out: File,
    *,
    cells: Sequence[Mapping[str, str]],
    replicates: int = 10_000,
    seed: int = 0,
) -> None:
    """Write COLUMNS (CSV), one row per cell of `cells` (NAMES); all files are in this order.

    delta_loglik is in nats over n observations; folds_better counts the folds on which the full
    model is more likely. If a fold could not be fitted, the values are empty and the note has the
    reason.
    """
    rows = []
    for index, cell in enumerate(cells):
        row = {key: cell[key] for key in NAMES} | compare(full[index], base[index])
        parts = contributions(full_observations[index], base_observations[index])
        rows.append(row | intervals(parts, replicates, seed))
    write_csv(out, pd.DataFrame(rows, columns=COLUMNS))


def compare(full: File, base: File) -> dict[str, Any]:
    """Return the values of one row from the two JSON files."""
    with_lm, without_lm = (json.loads(Path(path).read_text()) for path in (full, base))
    for key in ("by", "folds", "seed", "n", "unit"):
        if with_lm[key] != without_lm[key]:
            raise InputError(
                f"{full} has {key} {with_lm[key]}, {base} {without_lm[key]}: they used "
                "different folds; run both again"
            )

    def minus(key: str, a: Mapping = with_lm, b: Mapping = without_lm) -> float | None:
        return None if None in (a[key], b[key]) else a[key] - b[key]

    delta = minus("predictive")
    gains = [minus("predictive", a, b) for a, b in zip(with_lm["fits"], without_lm["fits"])]
    notes = [f"{fit['model']}: {fit['note']}" for fit in (with_lm, without_lm) if fit["note"]]
    return {
        **{key: with_lm[key] for key in ("by", "folds", "seed", "unit", "n")},
        "base": without_lm.get("base", ""),
        "delta_loglik": delta,
        "delta_loglik_per_observation": None if delta is None else delta / with_lm["n"],
        "delta_loglik_at_zero": minus("at_zero"),
        "delta_loglik_marginal": minus("marginal"),
        "folds_better": sum(gain is not None and gain > 0 for gain in gains),
        "converged": with_lm["converged"] and without_lm["converged"],
        "note": "; ".join(notes),
    }
