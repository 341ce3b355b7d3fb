"""Tables of fits: ΔLogLik by LM and response, by other endpoints, and beyond other LMs; effects.

- `table_delta_loglik`: reproduced and published (Clark et al. 2025, Table 2).
- `table_endpoints`: by every fitted likelihood and baseline model, next to the endpoint of the ranking.
  It shows whether the ranking depends on the endpoint and, if values were published, which endpoint
  reproduces them best.
- `table_beyond`: of each LM beyond each other one, summed over responses and seeds.
- `table_effects`: of each LM's predictors in the reader's unit, such as ms per bit of surprisal.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from recency.endpoints import CROSSED, ENDPOINTS
from recency.evaluations.reading_times.delta_loglik import KEYS
from recency.figures import bases, comparison, papers, style, tables
from recency.figures import intervals as interval_files
from recency.figures.comparison import Comparison, View
from recency.figures.intervals import TOTAL, Intervals, columns, ends
from recency.figures.paths import File, Files
from recency.figures.tables import Cell, Table
from recency.regression import predictor_names as names
from recency.regression.prediction import read_fit
from recency.scoring.measures import measure_of

PRODUCTS = {
    "table_beyond": {
        "makes": {"out": ("table_beyond", "Language models beyond one another")},
        "reads": ["nested"],
        "settings": ["lms=lms_but_for_seed", "responses", "trainings"],
        "when": "nested",
    },
    "table_delta_loglik": {
        "makes": {"out": ("table_delta_loglik", "Table of ΔLogLik")},
        "reads": ["delta_loglik", "intervals=delta_loglik_intervals", "not_run"],
        "settings": ["lms", "responses", "baseline"],
        "published": "delta_loglik",
    },
    "table_effects": {
        "makes": {"out": ("table_effects", "Effects in ms per bit")},
        "reads": ["fits", "not_run"],
        "settings": ["lms=lms_but_for_seed", "responses", "cells=fitted_cells"],
        "when": "mixed",
        "summary": ("table_effects.csv", "{title}: effects", "summary_of_effects"),
    },
    "table_endpoints": {
        "makes": {"out": ("table_endpoints", "Table of ΔLogLik by other endpoints")},
        "reads": ["delta_loglik", "others", "not_run"],
        "settings": ["lms", "responses"],
        "published": "delta_loglik",
        "when": "mixed",
    },
}


BEYOND_COLUMNS = (
    "added",
    "over",
    "dataset",
    "measure",
    "delta_loglik",
    "low_sentence",
    "high_sentence",
)


def table_beyond(
    view: View, nested: File, out: Files, trainings: Sequence[Mapping[str, str]]
) -> None:
    """Write a matrix to `out` (.csv, .html, .tex): rows are added to columns.

    Parameters
    ----------
    nested : path
        nested.csv, two rows per comparison.
    out : paths
        CSV, HTML and LaTeX.
    trainings : list of mapping
        Each LM (`lm`) and its name without its seed (`but_for_seed`).
    """
    one_name = {training["lm"]: training["but_for_seed"] for training in trainings}
    rows = comparison.table(nested, BEYOND_COLUMNS)
    sums = totals_beyond(
        rows.assign(pair_added=rows.added.map(one_name), pair_over=rows.over.map(one_name))
    )
    present = {*sums.added, *sums.over}
    models = [model for model in view.lms if model.lm in present]
    by_pair = {(row.added, row.over): row for row in sums.itertuples(index=False)}
    grid = []
    for added in models:
        line: list[Cell | str] = [added.label]
        for reference in models:
            row = by_pair.get((added.lm, reference.lm))
            if row is None:
                line.append("")
                continue
            excludes_zero = row.low > 0 or row.high < 0
            ends = (style.interval(row.low, row.high),)
            line.append(Cell(style.number(row.delta_loglik), ends, bold=bool(excludes_zero)))
        grid.append(line)
    several = int(sums.seeds.max()) > 1
    number = len(view.responses)
    notes = [
        f"ΔLogLik in nats, summed over {number} response{'s' * (number > 1)}"
        + (" and averaged over seeds" if several else "")
        + ": the regression with both language models relative to that with only the column's, on "
        + "the exploratory partition",
        "Beneath, the 95 % interval: a normal distribution for the sentences, resampled response by "
        "response and treated as independent between responses"
        + (", plus Student's t for the seeds" if several else "")
        + "; bold where it excludes zero",
    ]
    header = ["Added", *(f"to {model.label}" for model in models)]
    title = "ΔLogLik of language models beyond one another"
    tables.write(out, Table(title, header, grid, notes), sums)


def totals_beyond(rows: pd.DataFrame) -> pd.DataFrame:
    """Return added, over, seeds, responses, delta_loglik, low and high of each pair of LMs.

    Parameters
    ----------
    rows : DataFrame
        Columns of nested.csv, and `pair_added` and `pair_over`, the LMs without their seeds.
    """
    sds = (rows.high_sentence - rows.low_sentence) / (2 * stats.norm.ppf(0.975))
    rows = rows.assign(variance=sds**2)
    result = []
    for (added, reference), pair in rows.groupby(["pair_added", "pair_over"], sort=False):
        by_seed = pair.groupby(["added", "over"])[["delta_loglik", "variance"]].sum(min_count=1)
        seeds, number = by_seed.delta_loglik, len(by_seed)
        reach = stats.norm.ppf(0.975) * math.sqrt(by_seed.variance.mean())
        if number > 1:
            of_seeds = stats.t.ppf(0.975, number - 1) * seeds.std(ddof=1) / math.sqrt(number)
            reach = math.hypot(reach, of_seeds)
        mean = seeds.mean()
        result.append(
            {
                "added": added,
                "over": reference,
                "seeds": number,
                "responses": len(pair) // number,
                "delta_loglik": mean,
                "low": mean - reach,
                "high": mean + reach,
            }
        )
    return pd.DataFrame(result)


def data(result: Comparison, bounds: Intervals, published: pd.DataFrame) -> pd.DataFrame:
    """Return one row per LM and response, and a "Total" row, with NaN for missing published values.

    `published` is indexed by lm. The difference is given only if both have the same baseline model
    and endpoint.
    """
    totals, rows = result.totals, []
    paper = papers.compared(published, result)
    for lm in result.lms:
        values = result.delta.loc[lm.lm].to_dict()
        if len(totals):
            values[TOTAL] = totals[lm.lm]
        for label, value in values.items():
            row = {"lm": lm.lm, "label": lm.label, "response": label, "reproduced": value}
            row |= {"endpoint": result.endpoint} | paper.loc[(lm.lm, label)].to_dict()
            converged = (lm.lm, label) not in result.unconverged
            rows.append(row | columns(bounds, lm.lm, label) | {"converged": converged})
    names = ["lm", "label", "response", "base", "endpoint", "reproduced", "published_base"]
    names += ["published_endpoint", "published", "difference"]
    return pd.DataFrame(rows, columns=[*names, *columns(bounds, "", ""), "converged"])


def layout(
    result: Comparison,
    bounds: Intervals,
    rows: pd.DataFrame,
    source: str = "Clark et al. (2025), Table 2",
    baseline: str | None = None,
) -> Table:
    """Return the table: responses grouped by dataset, Total last.

    Beneath a value is the interval of its difference from the baseline; for the baseline, the
    interval of its own ΔLogLik.
    """
    has_published = rows.published.notna().any()
    groups: list[tuple[str, list[str]]] = []
    for response in result.responses:
        if not groups or groups[-1][0] != response.dataset:
            groups.append((response.dataset, []))
        groups[-1][1].append(response.measure)
    named = comparison.dataset_labels(result.responses)
    total = [TOTAL] if len(result.totals) else []
    top = [""] + [Cell(named[key], span=len(measures)) for key, measures in groups]
    names = tables.header(["LM", *(m for _, measures in groups for m in measures)])
    header = [top + ["" for _ in total], names + list(total)]

    value = rows.set_index(["lm", "response"])
    reference = next((lm.label for lm in result.lms if lm.lm == baseline), None)
    grid = []
    for lm in result.lms:
        # Lines beneath are reserved if this LM has any published value, so that rows stay aligned.
        below = has_published and value.loc[lm.lm].published.notna().any()
        paired = any(where == lm.lm for where, _ in bounds.paired)
        first = [f"95 %, \N{MINUS SIGN} {reference}" if paired and reference else "95 %"]
        cells = [
            Cell(lm.label, (*first, *(("published", "difference") if below else ())), left=True)
        ]
        for label in [*result.delta.columns, *total]:
            row = value.loc[(lm.lm, label)]
            text = style.number(row.reproduced) + ("" if row.converged else "†")
            pair = bounds.paired.get((lm.lm, label))
            lines = [ends(pair or (None if paired else bounds.own.get((lm.lm, label))))]
            if below:
                there = not math.isnan(row.published)
                lines += (
                    [style.number(row.published), style.signed(row.difference, unknown="")]
                    if there
                    else ["", ""]
                )
            is_sure = bool(pair and label == TOTAL and pair.excludes_zero)
            cells.append(Cell(text, tuple(lines), bold=is_sure))
        grid.append(cells)

    n = result.observations
    notes = [f"ΔLogLik in nats{result.described}; 95 % intervals below"]
    if bounds.paired and reference:
        notes[0] += (
            f": of the difference from {reference}, and of {reference}'s own value; for totals simultaneous "
            "for all pairs of LMs, bold where the difference excludes zero; for single responses uncorrected"
        )
    if len(n):
        notes.append("observations: " + ", ".join(f"{label} {n[label]:,}" for label in n.index))
    if total and len(result.summed) < len(result.delta.columns):
        notes.append(f"total over {', '.join(result.summed)}, which every LM has")
    if has_published:
        notes.append(
            f"published: {source}; published totals are summed over the responses of this "
            "table's total; difference: reproduced minus published"
        )
        theirs = bases.of(rows.published_base[rows.published_base != ""])
        by = next(iter(rows.published_endpoint[rows.published_endpoint != ""]), "")
        if (theirs, by) != (result.base, result.endpoint):
            notes[-1] += (
                f". Published ΔLogLik is relative to {bases.NAMED[theirs]}, log-likelihood "
                f"{ENDPOINTS[by].of if by in ENDPOINTS else by}: different endpoints, so that no difference is given"
            )
    if not rows.converged.all():
        notes.append("†: the regression did not converge")
    title = "ΔLogLik by language model and response"
    return Table(title, header, grid, notes + result.missing)


def table_delta_loglik(view: View, delta_loglik: File, intervals: File, out: Files) -> None:
    """Write the table to `out` (.csv tidy, .html, .tex); published is an LM × response CSV."""
    result = comparison.read(view, delta_loglik)
    bounds = interval_files.read(intervals, result)
    rows = data(result, bounds, papers.delta(view.published, result.lms))
    tables.write(out, layout(result, bounds, rows, baseline=view.baseline), rows)


EFFECT_COLUMNS = [
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
    "n",
]
QUANTILE = 1.959963984540054
UNITS = {"time_ms": "ms", "amplitude_uv": "µV"}


def table_effects(view: View, fits: Files, out: Files, cells: Sequence[Mapping[str, str]]) -> None:
    """Write the table to `out` (.csv, .html, .tex).

    Parameters
    ----------
    fits : paths
        JSON files of the full models, by cell.
    out : paths
        CSV, HTML and LaTeX.
    cells : list of mapping
        LM without its seed (`but_for_seed`), dataset, measure and design of each fit.
    """
    rows = effects([read_fit(path) for path in fits], cells)
    rows["label"] = rows.lm.map(view.labels)
    keys = zip(rows.dataset, rows.measure, strict=True)
    rows["response"] = [view.response_labels[key] for key in keys]
    tables.write(out, table_of_effects(rows, view.absent(set(rows.response))), rows[EFFECT_COLUMNS])


def summary_of_effects(path: File) -> Table:
    """Return the summary's table, from this table's CSV."""
    return table_of_effects(pd.read_csv(path, keep_default_na=False), [])


def table_of_effects(rows: pd.DataFrame, absent: Sequence[str]) -> Table:
    """Return a table with a row for each response, predictor and LM, with notes on `absent` responses."""
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
    notes = [
        (
            "Fixed effects of the full model, fitted to the fit partition, per unit of the unscaled predictor; "
            "beneath, the 95 % interval (Wald); bold where it excludes zero"
        ),
        *absent,
    ]
    if rows.seeds.max() > 1:
        notes.insert(1, "Means over training seeds, whose variation the intervals include")
    header = ["Response", "LM", "Predictor", "Unit", "Effect"]
    title = "Effects of language models' predictors"
    return Table(title, header, grid, notes, tuple(rules), left=4)


def effects(fits: Sequence[Mapping[str, Any]], cells: Sequence[Mapping[str, str]]) -> pd.DataFrame:
    """Return the effects of the LM's plain predictors, averaged over seeds: lm, dataset, measure and EFFECT_COLUMNS.

    A term of several predictors, or of a function of one, has no unit of its own and is left out. The
    variance of a mean over S seeds is the mean of the fits' plus the seeds' divided by S.
    """
    found: dict[tuple[str, ...], list[tuple[float, float, int]]] = {}
    for fit, cell in zip(fits, cells, strict=True):
        unit = _unit(fit)
        for effect in fit.get("fixed", ()):
            scaling = fit.get("scaling", {}).get(effect["term"])
            if scaling is None or not names.is_of_fitted_lm(effect["term"]):
                continue
            key = tuple(cell[name] for name in ("but_for_seed", "dataset", "measure", "design"))
            found.setdefault(
                (*key, effect["term"], f"{unit} per {_unit_of_measure(effect['term'])}"), []
            ).append(
                (effect["estimate"] / scaling["sd"], effect["se"] / scaling["sd"], fit["n"]["fit"])
            )
    rows = []
    for (lm, dataset, measure, design, term, unit), parts in found.items():
        estimates, errors, fitted = np.array(parts).T
        S = len(estimates)
        between = estimates.var(ddof=1) / S if S > 1 else 0.0
        value, se = float(estimates.mean()), math.sqrt(float((errors**2).mean()) + between)
        ends = {"low": value - QUANTILE * se, "high": value + QUANTILE * se}
        about = {"lm": lm, "dataset": dataset, "measure": measure, "design": design}
        about |= {"term": term, "unit": unit}
        rows.append(
            about | {"estimate": value, "se": se, **ends, "seeds": S} | {"n": int(fitted[0])}
        )
    more = ["dataset", "measure"]
    return pd.DataFrame(
        rows, columns=[*more, *(c for c in EFFECT_COLUMNS if c not in ("label", "response"))]
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


TITLES = {name: endpoint.title for name, endpoint in ENDPOINTS.items()} | {
    f"{name}_rescaled": f"{endpoint.title}, predictors rescaled"
    for name, endpoint in ENDPOINTS.items()
    if endpoint.rescaled
}
SEVERAL = 3
"""Minimum number of values for a correlation."""


def candidates(
    view: View, delta_loglik: File, others: Sequence[File]
) -> dict[tuple[str, str], pd.DataFrame]:
    """Return (base, endpoint) → ΔLogLik of each LM (rows) and response (columns), in nats."""
    tables: dict[tuple[str, str], pd.DataFrame] = {}
    for path in (delta_loglik, *others):
        result = comparison.read(view, path)
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


def data_by_endpoint(
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


def layout_by_endpoint(
    by_endpoint: Mapping[tuple[str, str], pd.DataFrame],
    result: Comparison,
    near: pd.DataFrame | None,
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
    title = "ΔLogLik by baseline model and likelihood"
    return Table(title, heads, rows, notes + result.missing, left=2)


def table_endpoints(
    view: View, delta_loglik: File, out: Files, others: Sequence[File] = ()
) -> None:
    """Write the table to `out` (.csv tidy, .html, .tex); published is an LM × response CSV."""
    result = comparison.read(view, delta_loglik)
    by_endpoint = candidates(view, delta_loglik, others)
    theirs = papers.delta(view.published, result.lms)
    near = agreement(by_endpoint, theirs) if len(theirs) else None
    tables.write(
        out,
        layout_by_endpoint(by_endpoint, result, near),
        data_by_endpoint(by_endpoint, result, theirs),
    )
