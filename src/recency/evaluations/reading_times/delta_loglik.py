"""Collect an experiment's fits into one table of ΔLogLik: full minus baseline, a row per response.

delta_loglik is by the experiment's endpoint (recency.endpoints) and has 95 % intervals; a column
per other likelihood follows, if the fits have it. Natural logarithm. A second table has the
intervals of totals and of differences between LMs (recency.evaluations.reading_times.intervals). An
LM with several training seeds is the mean over these; a separate table has the values of each seed.
`base` is what the baseline model omits, as recorded by the fits: only the fixed effects of interest
(`fixed`), or all predictors of the LM (`all`).
"""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from crosslmm.stats.crossed_samples import WITHOUT, Scores, Tables
from readingtimes.files import atomic
from recency.endpoints import CROSSED, ENDPOINTS, IN_SAMPLE, STIMULUS, UNIT, WITHOUT_GROUP
from recency.errors import InputError
from recency.evaluations.reading_times import shared_texts
from recency.evaluations.reading_times.intervals import CLUSTERS, Draws, Sums, cluster, table
from recency.evaluations.reading_times.shared_texts import Places
from recency.figures.paths import File, write_csv
from recency.regression.designs import FEWEST_LEVELS

NAMES = ("lm", "label", "dataset", "measure", "design")
RESCALED = [f"{name}_rescaled" for name, endpoint in ENDPOINTS.items() if endpoint.rescaled]
KEYS = {f"delta_loglik_{name}": e.key for name, e in ENDPOINTS.items() if name != CROSSED}
KEYS |= {f"delta_loglik_{name}": f"exploratory_{name}" for name in RESCALED}
OWN = "loglik"
"""Conditional log-likelihood, exploratory partition, of the model with the LM."""
FIGURES = ("delta_loglik", *KEYS, OWN, "delta_aic")
SAME = ("base", "endpoint", "n", "n_exploratory", "n_fit")
ENDS = ("low", "high", "by")
PER_OBSERVATION = "delta_loglik_per_observation"
COLUMNS = [*NAMES, *SAME, "delta_loglik", *ENDS, PER_OBSERVATION, *KEYS, OWN, "delta_aic"]
COLUMNS += ["seeds", "converged", "note"]
BY_SEED = [*NAMES, "variant", "seed", "base", "endpoint", *FIGURES, "converged", "note"]
INTERVALS = [f"{end}_{cluster}" for cluster in CLUSTERS for end in ("low", "high")]


def main(
    full: Sequence[File],
    base: Sequence[File],
    out: File,
    *,
    cells: Sequence[Mapping[str, str]],
    endpoint: str = "conditional",
    bootstrap: str | None = None,
    full_observations: Sequence[File] = (),
    base_observations: Sequence[File] = (),
    full_crossed: Sequence[File] = (),
    base_crossed: Sequence[File] = (),
    words: Sequence[File] = (),
    out_subjects: File | None = None,
    out_intervals: File | None = None,
    out_seeds: File | None = None,
    baselines: Mapping[str, str] | None = None,
    baseline: str | None = None,
    apart: Mapping[str, str] | None = None,
    replicates: int = 10_000,
    seed: int = 0,
) -> None:
    """Write one row (COLUMNS) for each LM and response of `cells`, in their order.

    Parameters
    ----------
    full, base
        The JSON files of the fits, in the order of `cells`. A pair with a failed fit has empty values
        and the reason in its note.
    cells
        Each has lm, label, dataset, measure, design, and optionally seed and variant, the LM with
        this seed: cells that differ only in these are one LM, whose values are the means.
    endpoint, bootstrap
        See recency.endpoints; without `bootstrap`, intervals are crossed if the endpoint is, and
        otherwise conditional on the fits.
    full_observations, base_observations
        The fits' Parquet files of observations, for intervals conditional on the fits.
    full_crossed, base_crossed
        The scores of both models by the crossed bootstrap, for the endpoint `crossed`.
    words
        The words of each dataset, in a folder of its name: sentences that datasets share are the same
        sample. Without these files no two datasets share any.
    out_subjects
        Parquet file of each subject's part of delta_loglik: lm, dataset, measure, design, subject, n,
        delta_loglik.
    out_intervals
        CSV of the intervals, including differences from each LM's baseline (`baselines`, lm → lm) and
        totals over responses, or over the responses of the designs with the same name in `apart`;
        differences of totals also as shares of the total of `baseline`.
    out_seeds
        CSV of BY_SEED, one row per cell.
    """
    rows_by_seed = [
        {key: cell[key] for key in NAMES}
        | {"variant": cell.get("variant", cell["lm"]), "seed": cell.get("seed", "")}
        | compare(*pair, endpoint)
        for cell, *pair in zip(cells, full, base, strict=True)
    ]
    observations, scores = (full_observations, base_observations), (full_crossed, base_crossed)
    parts = read_parts(endpoint, *(scores if endpoint == CROSSED else observations))
    if endpoint == CROSSED:
        for row, part in zip(rows_by_seed, parts, strict=True):
            total = repr(math.fsum(part["delta_loglik"]))
            row |= {"delta_loglik": total, "n": int(part["n"].sum())}
    groups: dict[tuple, list[dict]] = {}
    for row, cell in zip(rows_by_seed, cells, strict=True):
        groups.setdefault(_key(cell), []).append(row)
    rows = {row_key: over_seeds(group) for row_key, group in groups.items()}
    is_crossed = endpoint == CROSSED and bootstrap != "given_fits"
    places = shared_texts.of_files(words)
    drawn = totals(cells, parts, is_crossed, replicates, seed, places)
    of_items = {
        _key(cell)[1] for cell, part in zip(cells, parts, strict=bool(parts)) if _is_of_items(part)
    }
    for row_key, estimate in drawn.items():
        ends = estimate.ends()
        rows[row_key] |= _text(ends | {"by": cluster(str(ends["by"]), row_key[1] in of_items)})
    by_cluster = INTERVALS if any(isinstance(d, Draws) for d in drawn.values()) else []
    write_csv(out, pd.DataFrame(rows.values(), columns=[*COLUMNS, *by_cluster], dtype=object))
    if out_seeds is not None:
        write_csv(out_seeds, pd.DataFrame(rows_by_seed, columns=BY_SEED, dtype=object))
    if out_subjects is not None:
        subjects = [by_subject(part, cell) for part, cell in zip(parts, cells, strict=True)]
        keys = ["lm", "dataset", "measure", "design", "subject"]
        means = pd.concat(subjects).groupby(keys, sort=False, as_index=False)
        with atomic(out_subjects) as path:
            means.agg(n=("n", "first"), delta_loglik=("delta_loglik", _mean)).to_parquet(
                path, compression="zstd", index=False
            )
    if out_intervals is not None:
        write_csv(out_intervals, table(drawn, baselines or {}, apart, baseline, of_items))


def totals(
    cells: Sequence[Mapping[str, str]],
    parts: Sequence[pd.DataFrame],
    is_crossed: bool,
    replicates: int = 10_000,
    seed: int = 0,
    places: Mapping[str, Places] | None = None,
) -> Mapping[tuple, Draws | Scores]:
    """Return (LM, response) → ΔLogLik with the sums for its intervals.

    Parameters
    ----------
    cells : sequence of mapping
        As in `main`.
    parts : sequence of DataFrame
        Their parts of ΔLogLik, as returned by `read_parts`.
    is_crossed : bool
        Whether intervals are by the crossed bootstrap; otherwise conditional on the fits.
    replicates, seed : int
        Of the bootstrap conditional on the fits.
    places : mapping, optional
        Dataset → the places of its sentences, which datasets may share. Without them, sentences of
        different datasets are independent.
    """
    if not parts:
        return {}
    collected = Tables() if is_crossed else Sums()
    for cell, part in zip(cells, parts, strict=True):
        lm, response = _key(cell)
        training = str(cell.get("seed", ""))
        dataset = cell["dataset"]
        if isinstance(collected, Tables):
            sample, frame = dataset, part
            if places:
                sample, frame = places[dataset].sample, places[dataset].placed(part, dataset)
            collected.add((lm, response), sample, frame, training)
        else:
            collected.add(lm, response, part, training, places[dataset] if places else None)
    if isinstance(collected, Tables):
        return collected.scores()
    return collected.draw(replicates, seed)


def over_seeds(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the row of an LM and response from the rows of its seeds: means, and all notes."""
    first = rows[0]
    for name in SAME:
        if len(distinct := {row[name] for row in rows}) > 1:
            raise InputError(
                f"{first['lm']} on {first['dataset']} {first['measure']}: {name} is "
                f"{' and '.join(map(str, sorted(distinct)))} for its seeds; run their regressions again"
            )
    figures = {}
    for name in FIGURES:
        values = [row[name] for row in rows]
        figures[name] = "" if "" in values else repr(math.fsum(map(float, values)) / len(rows))
    several = len(rows) > 1
    notes = [f"seed {r['seed']}: {r['note']}" if several else r["note"] for r in rows if r["note"]]
    same = {name: first[name] for name in (*NAMES, *SAME)}
    converged = all(row["converged"] for row in rows)
    total = figures["delta_loglik"]
    figures[PER_OBSERVATION] = repr(float(total) / first["n"]) if total and first["n"] else ""
    return same | figures | {"seeds": len(rows), "converged": converged, "note": "; ".join(notes)}


def _is_of_items(part: pd.DataFrame) -> bool:
    """Return whether the cells of a table are of an experiment's items."""
    return part.attrs.get(UNIT) == STIMULUS


def _mean(values: pd.Series) -> float:
    return values.mean(skipna=False)


def _key(cell: Mapping[str, str]) -> tuple[str, tuple[str, str, str]]:
    """Return a cell's LM and response."""
    return cell["lm"], (cell["dataset"], cell["measure"], cell["design"])


def _text(ends: Mapping[str, Any]) -> dict[str, str]:
    """Return an interval as text, omitting missing values."""
    return {
        name: value if isinstance(value, str) else repr(float(value)) if np.isfinite(value) else ""
        for name, value in ends.items()
    }


def read_parts(endpoint: str, full: Sequence[File], base: Sequence[File]) -> list[pd.DataFrame]:
    """Return the parts of ΔLogLik by an endpoint for each pair of files, by observation or cell.

    Columns: subject, sentence, n (observations), delta_loglik. A row is a cell for `crossed` (a
    subject's observations of a sentence, or of a larger unit), otherwise an observation.
    """
    read = crossed_parts if endpoint == CROSSED else contributions
    more = () if endpoint == CROSSED else (endpoint,)
    return [read(*pair, *more) for pair in zip(full, base, strict=True)]


def contributions(full: File, base: File, endpoint: str = "conditional") -> pd.DataFrame:
    """Return each observation's part of ΔLogLik: subject, sentence, word_id, n (1), delta_loglik."""
    with_lm, without_lm = _read_scored(full, endpoint), _read_scored(base, endpoint)
    names = ["subject", "sentence", "word_id"]
    _check_same(with_lm, without_lm, names, full, base)
    column = "loglik" if endpoint == "conditional" else f"loglik_{endpoint}"
    parts = [fit.get(column, math.nan) for fit in (with_lm, without_lm)]
    return with_lm[names].assign(n=1, delta_loglik=parts[0] - parts[1])


def _read_scored(path: File, endpoint: str) -> pd.DataFrame:
    """Read the observations scored by an endpoint: the fitted ones or the others."""
    frame = pd.read_parquet(path)
    if "partition" not in frame:
        return frame
    scored = frame["partition"] == ("fit" if endpoint == IN_SAMPLE else "exploratory")
    return frame[scored].reset_index(drop=True)


def crossed_parts(full: File, base: File) -> pd.DataFrame:
    """Return each cell's part of ΔLogLik by the crossed bootstrap."""
    with_lm, without_lm = pd.read_parquet(full), pd.read_parquet(base)
    names = ["subject", "unit", "n"]
    _check_same(with_lm, without_lm, names, full, base)
    parts = with_lm[names].assign(delta_loglik=with_lm["loglik"] - without_lm["loglik"])
    parts = parts.rename(columns={"unit": "sentence"})
    without = [np.array(table.attrs.get(WITHOUT_GROUP, ())) for table in (with_lm, without_lm)]
    parts.attrs = {UNIT: with_lm.attrs.get(UNIT, "sentence")}
    if all(map(len, without)):
        parts.attrs[WITHOUT] = (without[0] - without[1]).tolist()
    return parts


def _check_same(
    a: pd.DataFrame, b: pd.DataFrame, names: Sequence[str], full: object, base: object
) -> None:
    if len(a) != len(b) or not all(np.array_equal(a[name], b[name]) for name in names):
        raise InputError(f"{full} and {base} have different observations; run both again")


def intervals(parts: pd.DataFrame, replicates: int, seed: int) -> dict[str, str]:
    """Return the 95 % bootstrap intervals of one table's ΔLogLik by subject and by sentence."""
    sums = Sums()
    sums.add("", ("", "", ""), parts)
    (drawn,) = sums.draw(replicates, seed).values()
    ends = drawn.ends()
    return _text({name: ends.get(name, math.nan) for name in INTERVALS})


def by_subject(parts: pd.DataFrame, cell: Mapping[str, str]) -> pd.DataFrame:
    """Return each subject's part of ΔLogLik and number of observations."""
    grouped = parts.assign(subject=parts["subject"].astype(str)).groupby("subject")
    table = grouped["n"].sum().to_frame()
    table["delta_loglik"] = grouped["delta_loglik"].agg(lambda part: part.sum(skipna=False))
    table = table.reset_index()
    for position, name in enumerate(("lm", "dataset", "measure", "design")):
        table.insert(position, name, cell[name])
    return table


def compare(full: File, base: File, endpoint: str = "conditional") -> dict[str, Any]:
    """Return the values of one row from the two JSON files."""
    with_lm, without_lm = (json.loads(Path(path).read_text()) for path in (full, base))
    for partition in ("exploratory", "fit"):
        sizes = with_lm["n"][partition], without_lm["n"][partition]
        if sizes[0] != sizes[1]:
            raise InputError(
                f"{full} has {sizes[0]} observations in partition {partition}, {base} {sizes[1]}: "
                "they used different observations; run both again"
            )
    figures: dict[str, Any] = {}
    for name, key in KEYS.items():
        pair = with_lm["loglik"].get(key), without_lm["loglik"].get(key)
        figures[name] = "" if None in pair else repr(pair[0] - pair[1])
    figures["delta_loglik"] = figures.get(f"delta_loglik_{endpoint}", "")
    exploratory = with_lm["loglik"].get("exploratory")
    figures[OWN] = "" if exploratory is None else repr(exploratory)
    figures["delta_aic"] = _delta_aic(with_lm, without_lm)
    scored = "fit" if endpoint == IN_SAMPLE else "exploratory"
    notes = [f"{fit['model']}: {fit['note']}" for fit in (with_lm, without_lm) if fit["note"]]
    notes += _few_units(with_lm)
    return {
        "base": without_lm.get("base", ""),
        "endpoint": endpoint,
        **figures,
        "n": with_lm["n"][scored],
        "n_exploratory": with_lm["n"]["exploratory"],
        "n_fit": with_lm["n"]["fit"],
        "converged": with_lm["converged"] and without_lm["converged"],
        "note": "; ".join(notes),
    }


def _few_units(fit: Mapping[str, Any]) -> list[str]:
    """Return notes on too few subjects or sentences; means over subjects have none."""
    units = ("subjects", "sentences") if fit.get("engine") != "ols" else ("sentences",)
    counts = {unit: fit["n"].get(unit, FEWEST_LEVELS) for unit in units}
    return [
        f"{number} {unit}, fewer than {FEWEST_LEVELS}"
        for unit, number in counts.items()
        if number < FEWEST_LEVELS
    ]


def _delta_aic(full: Mapping[str, Any], base: Mapping[str, Any]) -> str:
    """Return AIC of the full model minus that of its baseline model, "" without a fit."""
    fits = (full, base)
    logliks = [fit["loglik"].get("fit") for fit in fits]
    if None in logliks:
        return ""
    parameters = [len(fit.get("fixed", ())) + len(fit.get("theta", ())) for fit in fits]
    return repr(2 * (parameters[0] - parameters[1]) - 2 * (logliks[0] - logliks[1]))
