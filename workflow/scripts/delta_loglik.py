"""Collect an experiment's fits into one table of ΔLogLik: full minus base, one row per response.

delta_loglik: on the exploratory partition, given the random effects (Clark et al. 2025, Section 4);
delta_loglik_marginal: the same with random effects drawn anew; delta_loglik_fit: lme4's, on the
partition that the models were fitted to. Natural logarithm.
"""

import csv
import json
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import job

NAMES = ("lm", "label", "dataset", "measure", "design")
COLUMNS = [
    *NAMES,
    *("delta_loglik", "delta_loglik_marginal", "delta_loglik_fit", "n_exploratory", "n_fit"),
    *("converged", "note"),
]
LIKELIHOODS = {
    "delta_loglik": "exploratory",
    "delta_loglik_marginal": "exploratory_marginal",
    "delta_loglik_fit": "fit",
}


def main(
    full: Sequence[str | PathLike],
    base: Sequence[str | PathLike],
    out: str | PathLike,
    *,
    cells: Sequence[Mapping[str, str]],
) -> None:
    """Write one row for each of `cells` (lm, label, dataset, measure, design), in their order.

    `full` and `base` are the JSON files of the fits, in the order of `cells`. A pair of which one
    could not be fitted has empty figures and the reason in its note.
    """
    with job.whole(out) as path, path.open("w", newline="") as file:
        table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        table.writeheader()
        for cell, with_lm, without_lm in zip(cells, full, base, strict=True):
            names = {key: cell[key] for key in NAMES}
            table.writerow(names | compare(with_lm, without_lm))


def compare(full: str | PathLike, base: str | PathLike) -> dict[str, Any]:
    """Return the figures of one row from the two JSON files."""
    with_lm, without_lm = (json.loads(Path(path).read_text()) for path in (full, base))
    for partition in ("exploratory", "fit"):
        sizes = with_lm["n"][partition], without_lm["n"][partition]
        if sizes[0] != sizes[1]:
            raise job.InputError(
                f"{full} has {sizes[0]} observations in partition {partition}, {base} {sizes[1]}: "
                "they were made from different observations; make both again"
            )
    figures: dict[str, Any] = {}
    for name, key in LIKELIHOODS.items():
        pair = with_lm["loglik"][key], without_lm["loglik"][key]
        figures[name] = "" if None in pair else repr(pair[0] - pair[1])
    notes = [f"{fit['model']}: {fit['note']}" for fit in (with_lm, without_lm) if fit["note"]]
    return {
        **figures,
        "n_exploratory": with_lm["n"]["exploratory"],
        "n_fit": with_lm["n"]["fit"],
        "converged": with_lm["converged"] and without_lm["converged"],
        "note": "; ".join(notes),
    }


if __name__ == "__main__":
    with job.logged(snakemake.log[0]):
        main(
            full=snakemake.input.full,
            base=snakemake.input.base,
            out=snakemake.output[0],
            **snakemake.params,
        )
