"""Observations per partition, reproduced and published (Clark et al. 2025, Table 1)."""

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from recency.errors import InputError
from recency.figures import comparison, style, tables
from recency.figures.comparison import Described, Response
from recency.figures.paths import File, Files
from recency.figures.tables import Cell, Table

PRODUCTS = {
    "main": {
        "makes": {"out": ("table_observations", "Observations")},
        "reads": ["counts", "not_run"],
        "settings": ["responses"],
        "published": "observations",
    }
}

PARTITIONS = {"fit": "Fit", "exploratory": "Exploratory", "held_out": "Held-out"}


def sizes(counts: Files) -> dict[str, dict[str, int]]:
    """Return partitions' sizes from …/observations/{dataset}.{measure}/counts.csv, by folder."""
    partitions = {}
    for path in map(Path, counts):
        rows = comparison.table(path, ["step", "kept"]).set_index("step").kept
        if absent := [name for name in PARTITIONS if name not in rows.index]:
            raise InputError(f"{path}: no row {', '.join(absent)}; delete it to compute it again")
        partitions[path.parent.name] = {name: int(rows[name]) for name in PARTITIONS}
    return partitions


def data(
    responses: list[Response], reproduced: Mapping[str, Mapping[str, int]], published: pd.DataFrame
) -> pd.DataFrame:
    """Return one row per response and partition; "Total" is over the responses that were run."""
    rows, total = [], {name: [0, 0] for name in PARTITIONS}
    run = [r for r in responses if f"{r.dataset}.{r.measure}" in reproduced]
    all_published = bool(run) and all(r.label in published.index for r in run)
    for response in responses:
        counted = reproduced.get(f"{response.dataset}.{response.measure}")
        for name in PARTITIONS:
            here = counted[name] if counted else pd.NA
            there = (
                int(published.loc[response.label, name])
                if response.label in published.index
                else pd.NA
            )
            rows.append((response.label, name, here, there))
            if counted:
                total[name][0] += here
                total[name][1] += there if all_published else 0
    if len(run) > 1:
        for name, (here, there) in total.items():
            rows.append(("Total", name, here, there if all_published else pd.NA))
    frame = pd.DataFrame(rows, columns=["response", "partition", "reproduced", "published"])
    frame[["reproduced", "published"]] = frame[["reproduced", "published"]].astype("Int64")
    frame["difference"] = frame.reproduced - frame.published
    return frame


def layout(rows: pd.DataFrame, missing: list[str], title: str, source: str) -> Table:
    """Return the table: reproduced, published and difference per partition."""
    has_published = rows.published.notna().any()
    kinds = ["reproduced", "published", "difference"] if has_published else ["reproduced"]
    header = ["Response", *PARTITIONS.values()]
    if has_published:
        tops = [Cell(text, span=3) for text in PARTITIONS.values()]
        header = [[""] + tops, tables.header(["Response", *kinds * 3])]
    value = rows.set_index(["response", "partition"])
    labels = list(dict.fromkeys(rows.response))
    grid = [
        [
            label,
            *(write(value.loc[(label, name), kind], kind) for name in PARTITIONS for kind in kinds),
        ]
        for label in labels
    ]
    notes = ["numbers of observations after the filters, by partition"]
    if has_published:
        notes.append(
            f"published: {source}; difference: reproduced minus published; "
            "totals, published ones too, are over the responses that were run"
        )
    rules = (len(labels) - 1,) if labels and labels[-1] == "Total" else ()
    return Table(title, header, grid, notes + missing, rules)


def write(value: int, kind: str) -> str:
    """Write a count with separators, a difference with its sign, a missing value as –."""
    if pd.isna(value):
        return "\N{EN DASH}"
    return style.signed(value, 0) if kind == "difference" else f"{value:,}"


def main(
    *,
    counts: Files,
    out: Files,
    responses: Described,
    published: File | None = None,
    not_run: File | None = None,
    source: str = "Clark et al. (2025), Table 1",
    title: str = "Observations in each partition",
) -> None:
    """Write the table to `out` (.csv tidy, .html, .tex); `counts` are of the responses that were run."""
    _, measured = comparison.records([], responses)
    reproduced = sizes(counts)
    absent = [r for r in measured if f"{r.dataset}.{r.measure}" not in reproduced]
    there = pd.DataFrame()
    if published is not None:
        there = comparison.table(published, ["corpus_measure", *PARTITIONS])
        there = there.set_index("corpus_measure")
    rows = data(measured, reproduced, there)
    missing = comparison.absent_responses(absent, comparison.reasons(not_run))
    tables.write(out, layout(rows, missing, title, source), rows)
