"""ΔLogLik by LM and response, reproduced and published (Clark et al. 2025, Table 2)."""

import math

import pandas as pd

from recency.endpoints import ENDPOINTS
from recency.figures import bases, comparison, papers, style, tables
from recency.figures import intervals as interval_files
from recency.figures.comparison import Comparison, Described
from recency.figures.intervals import TOTAL, Intervals, columns, ends
from recency.figures.paths import File, Files
from recency.figures.tables import Cell, Table

PRODUCTS = {
    "main": {
        "makes": {"out": ("table_delta_loglik", "Table of ΔLogLik")},
        "reads": ["delta_loglik", "intervals=delta_loglik_intervals", "not_run"],
        "settings": ["lms", "responses", "baseline"],
        "published": "delta_loglik",
    }
}


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
    title: str,
    source: str,
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
    return Table(title, header, grid, notes + result.missing)


def main(
    *,
    delta_loglik: File,
    intervals: File,
    out: Files,
    lms: Described,
    responses: Described,
    baseline: str | None = None,
    published: File | None = None,
    not_run: File | None = None,
    source: str = "Clark et al. (2025), Table 2",
    title: str = "ΔLogLik by language model and response",
) -> None:
    """Write the table to `out` (.csv tidy, .html, .tex); `published` is an LM × response CSV."""
    result = comparison.read(delta_loglik, lms=lms, responses=responses, not_run=not_run)
    bounds = interval_files.read(intervals, result)
    rows = data(result, bounds, papers.delta(published, result.lms))
    tables.write(out, layout(result, bounds, rows, title, source, baseline), rows)
