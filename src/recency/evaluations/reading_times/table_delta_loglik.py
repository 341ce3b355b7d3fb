"""ΔLogLik by LM and response, published beside reproduced (Clark et al. 2025, Table 2)."""

import math
from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd

from recency.figures import comparison, papers, style, tables
from recency.figures.comparison import Comparison
from recency.figures.tables import Cell, Table

PRODUCT = {
    "makes": {
        "out": ("table_delta_loglik", "Table of ΔLogLik"),
    },
    "reads": ["delta_loglik", "not_run"],
    "settings": ["lms", "responses"],
    "published": "delta_loglik",
}


def data(result: Comparison, published: pd.DataFrame) -> pd.DataFrame:
    """Give one row an LM and response, and a "Total" one, with NaN where nothing was published.

    `published` is indexed by lm.
    """
    best = result.delta.max()
    totals, rows = result.totals, []
    for lm in result.lms:
        for label in result.delta.columns:
            value = result.delta.loc[lm.lm, label]
            known = lm.lm in published.index and label in published.columns
            there = published.loc[lm.lm, label] if known else float("nan")
            failed = (lm.lm, label) in result.unconverged
            rows.append((lm.lm, lm.label, label, value, there, value == best[label], not failed))
        if len(totals):
            there = papers.total(published, lm.lm, result.summed)
            top = totals[lm.lm] == totals.max()
            rows.append((lm.lm, lm.label, "Total", totals[lm.lm], there, top, True))
    columns = ["lm", "label", "response", "reproduced", "published", "best", "converged"]
    frame = pd.DataFrame(rows, columns=columns)
    frame.insert(5, "difference", frame.reproduced - frame.published)
    return frame


def layout(result: Comparison, rows: pd.DataFrame, title: str, source: str) -> Table:
    """Set the rows out as a grid: responses grouped by dataset, Total last."""
    beside = rows.published.notna().any()
    groups: list[tuple[str, list[str]]] = []
    for response in result.responses:
        dataset = response.dataset_label
        if not groups or groups[-1][0] != dataset:
            groups.append((dataset, []))
        groups[-1][1].append(response.measure)
    total = ["Total"] if len(result.totals) else []
    top = [Cell("")] + [Cell(name, span=len(measures)) for name, measures in groups]
    names = [Cell("LM", left=True)] + [Cell(m) for _, measures in groups for m in measures]
    header = [top + [Cell("") for _ in total], names + [Cell(name) for name in total]]

    value = rows.set_index(["lm", "response"])
    grid = []
    for lm in result.lms:
        # Lines beneath stand where this LM has something published, so that rows stay level.
        below = beside and value.loc[lm.lm].published.notna().any()
        cells = [Cell(lm.label, ("published", "difference") if below else (), left=True)]
        for label in [*result.delta.columns, *total]:
            row = value.loc[(lm.lm, label)]
            text = style.number(row.reproduced) + ("" if row.converged else "†")
            known = not math.isnan(row.published)
            lines = (
                (style.number(row.published), style.signed(row.difference)) if known else ("", "")
            )
            cells.append(Cell(text, lines if below else (), bold=bool(row.best)))
        grid.append(cells)

    n = result.observations
    notes = ["ΔLogLik in nats on the exploratory partition; the best LM of a column in bold"]
    if len(n):
        notes.append("observations: " + ", ".join(f"{label} {n[label]:,}" for label in n.index))
    if total and len(result.summed) < len(result.delta.columns):
        notes.append(f"total over {', '.join(result.summed)}, which every LM has")
    if beside:
        notes.append(
            f"published: {source}; published totals are summed over the responses of this "
            "table's total; difference: reproduced minus published"
        )
    if not rows.converged.all():
        notes.append("†: the regression did not converge")
    return Table(title, header, grid, notes + result.missing)


def main(
    *,
    delta_loglik: str | Path,
    out: Iterable[str | Path],
    lms: Iterable[Mapping],
    responses: Iterable[Mapping],
    published: str | Path | None = None,
    not_run: str | Path | None = None,
    source: str = "Clark et al. (2025), Table 2",
    title: str = "ΔLogLik by language model and response",
) -> None:
    """Write the table to `out` (.csv tidy, .html, .tex); `published` is an LM × response CSV."""
    result = comparison.read(delta_loglik, lms=lms, responses=responses, not_run=not_run)
    rows = data(result, papers.delta(published, result.lms))
    tables.write(out, layout(result, rows, title, source), rows)
