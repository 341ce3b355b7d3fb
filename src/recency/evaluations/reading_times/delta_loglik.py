"""Collect an experiment's fits into one table of ΔLogLik: full minus base, one row per response.

delta_loglik: on the exploratory partition, given the random effects (Clark et al. 2025, Section 4);
delta_loglik_marginal: the same with random effects drawn anew; delta_loglik_fit: lme4's, on the
partition that the models were fitted to. Natural logarithm. Where each observation's part is given,
the table has 95 % intervals of delta_loglik too, with subjects or sentences drawn anew, and a second
table those of totals and of differences between LMs (recency.evaluations.reading_times.intervals).
An LM that was trained from several seeds is the mean over these; each seed's figures are in a table
of their own. `base` is what the base lacks, as the fits themselves say: the fixed effects of
interest alone, their by-subject slopes left in (`fixed`, the paper's), or these too (`all`).
"""

import csv
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from recency.errors import InputError
from recency.evaluations.reading_times.intervals import CLUSTERS, Draws, Sums, table
from recency.files import atomic
from recency.stats.bootstrap import percentiles

NAMES = ("lm", "label", "dataset", "measure", "design")
FIGURES = ("delta_loglik", "delta_loglik_marginal", "delta_loglik_fit")
COLUMNS = [*NAMES, "base", *FIGURES, "n_exploratory", "n_fit", "seeds", "converged", "note"]
BY_SEED = [*NAMES, "variant", "seed", "base", *FIGURES, "converged", "note"]
INTERVALS = [f"{end}_{cluster}" for cluster in CLUSTERS for end in ("low", "high")]
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
    full_observations: Sequence[str | PathLike] = (),
    base_observations: Sequence[str | PathLike] = (),
    out_subjects: str | PathLike | None = None,
    out_intervals: str | PathLike | None = None,
    out_seeds: str | PathLike | None = None,
    baselines: Mapping[str, str] | None = None,
    apart: Mapping[str, str] | None = None,
    replicates: int = 10_000,
    seed: int = 0,
) -> None:
    """Write one row (COLUMNS) for each LM and response of `cells`, in their order.

    A cell has lm, label, dataset, measure, design, and perhaps seed and variant, the LM of this seed:
    cells that differ in these alone are one LM, whose figures are the means. `full` and `base` are the JSON files of the fits, in the
    order of `cells`. A pair of which one could not be fitted has empty figures and the reason in its
    note. `out_seeds` gets BY_SEED, a row a cell. With the fits' Parquet files
    of observations (`full_observations`, `base_observations`, in the same order) the columns
    INTERVALS follow, and `out_subjects` gets each subject's part of delta_loglik as Parquet: lm,
    dataset, measure, design, subject, n, delta_loglik. `out_intervals` gets the intervals of
    differences from each LM's baseline (`baselines`, lm → lm), and over responses: over those of the
    designs that have one name in `apart`, where it is given.
    """
    each = [
        {key: cell[key] for key in NAMES}
        | {"variant": cell.get("variant", cell["lm"]), "seed": cell.get("seed", "")}
        | compare(*pair)
        for cell, *pair in zip(cells, full, base, strict=True)
    ]
    groups: dict[tuple, list[dict]] = {}
    for row, cell in zip(each, cells, strict=True):
        groups.setdefault(_place(cell), []).append(row)
    rows = {place: over_seeds(group) for place, group in groups.items()}
    subjects, drawn = [], {}
    if full_observations:
        sums = Sums()
        for cell, *pair in zip(cells, full_observations, base_observations, strict=True):
            parts = contributions(*pair)
            sums.add(*_place(cell), parts, str(cell.get("seed", "")))
            subjects.append(by_subject(parts, cell))
        drawn = sums.draw(replicates, seed)
        rows = {place: row | _ends(drawn[place]) for place, row in rows.items()}
    _write(out, COLUMNS + (INTERVALS if full_observations else []), rows.values())
    if out_seeds is not None:
        _write(out_seeds, BY_SEED, each)
    if out_subjects is not None:
        keys = ["lm", "dataset", "measure", "design", "subject"]
        means = pd.concat(subjects).groupby(keys, sort=False, as_index=False)
        with atomic(out_subjects) as path:
            means.agg(n=("n", "first"), delta_loglik=("delta_loglik", _mean)).to_parquet(
                path, compression="zstd", index=False
            )
    if out_intervals is not None:
        with atomic(out_intervals) as path:
            found = table(drawn, baselines or {}, apart)
            found.to_csv(path, index=False, lineterminator="\n")


def over_seeds(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the row of an LM and response from those of its seeds: means, and what any of them notes."""
    first = rows[0]
    for name in ("base", "n_exploratory", "n_fit"):
        if len(found := {row[name] for row in rows}) > 1:
            raise InputError(
                f"{first['lm']} on {first['dataset']} {first['measure']}: {name} is "
                f"{' and '.join(map(str, sorted(found)))} for its seeds; make their regressions again"
            )
    figures = {}
    for name in FIGURES:
        values = [row[name] for row in rows]
        figures[name] = "" if "" in values else repr(math.fsum(map(float, values)) / len(rows))
    several = len(rows) > 1
    notes = [f"seed {r['seed']}: {r['note']}" if several else r["note"] for r in rows if r["note"]]
    same = {name: first[name] for name in (*NAMES, "base", "n_exploratory", "n_fit")}
    converged = all(row["converged"] for row in rows)
    return same | figures | {"seeds": len(rows), "converged": converged, "note": "; ".join(notes)}


def _mean(values: pd.Series) -> float:
    return values.mean(skipna=False)


def _write(out: str | PathLike, columns: Sequence[str], rows: Iterable[Mapping]) -> None:
    with atomic(out) as path, path.open("w", newline="") as file:
        table = csv.DictWriter(file, columns, lineterminator="\n", extrasaction="ignore")
        table.writeheader()
        table.writerows(rows)


def _place(cell: Mapping[str, str]) -> tuple[str, tuple[str, str, str]]:
    """Return a cell's LM and response."""
    return cell["lm"], (cell["dataset"], cell["measure"], cell["design"])


def _ends(drawn: Draws) -> dict[str, str]:
    """Return the 95 % intervals by subject and by sentence, as text."""
    ends = [end for cluster in CLUSTERS for end in percentiles(drawn.of(cluster))]
    return {k: repr(v) if np.isfinite(v) else "" for k, v in zip(INTERVALS, ends, strict=True)}


def contributions(full: str | PathLike, base: str | PathLike) -> pd.DataFrame:
    """Return each observation's part of ΔLogLik: subject, sentence, word_id, delta_loglik."""
    with_lm, without_lm = pd.read_parquet(full), pd.read_parquet(base)
    names = ["subject", "sentence", "word_id"]
    same = len(with_lm) == len(without_lm) and all(
        np.array_equal(with_lm[name], without_lm[name]) for name in names
    )
    if not same:
        raise InputError(f"{full} and {base} are not of the same observations; make both again")
    return with_lm[names].assign(delta_loglik=with_lm["loglik"] - without_lm["loglik"])


def intervals(parts: pd.DataFrame, replicates: int, seed: int) -> dict[str, str]:
    """Return the 95 % bootstrap intervals of one table's ΔLogLik by subject and by sentence."""
    sums = Sums()
    sums.add("", ("", "", ""), parts)
    (drawn,) = sums.draw(replicates, seed).values()
    return _ends(drawn)


def by_subject(parts: pd.DataFrame, cell: Mapping[str, str]) -> pd.DataFrame:
    """Return each subject's part of ΔLogLik and number of observations."""
    grouped = parts.assign(subject=parts["subject"].astype(str)).groupby("subject")["delta_loglik"]
    table = grouped.agg(n="size", delta_loglik=lambda part: part.sum(skipna=False)).reset_index()
    for place, name in enumerate(("lm", "dataset", "measure", "design")):
        table.insert(place, name, cell[name])
    return table


def compare(full: str | PathLike, base: str | PathLike) -> dict[str, Any]:
    """Return the figures of one row from the two JSON files."""
    with_lm, without_lm = (json.loads(Path(path).read_text()) for path in (full, base))
    for partition in ("exploratory", "fit"):
        sizes = with_lm["n"][partition], without_lm["n"][partition]
        if sizes[0] != sizes[1]:
            raise InputError(
                f"{full} has {sizes[0]} observations in partition {partition}, {base} {sizes[1]}: "
                "they were made from different observations; make both again"
            )
    figures: dict[str, Any] = {}
    for name, key in LIKELIHOODS.items():
        pair = with_lm["loglik"][key], without_lm["loglik"][key]
        figures[name] = "" if None in pair else repr(pair[0] - pair[1])
    notes = [f"{fit['model']}: {fit['note']}" for fit in (with_lm, without_lm) if fit["note"]]
    return {
        "base": without_lm.get("base", ""),
        **figures,
        "n_exploratory": with_lm["n"]["exploratory"],
        "n_fit": with_lm["n"]["fit"],
        "converged": with_lm["converged"] and without_lm["converged"],
        "note": "; ".join(notes),
    }
