"""Mean response and mean surprisal by condition, and their differences from the first condition."""

import math
from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd

from recency.evaluations.conditions.means import COLUMNS, RESPONSE
from recency.evaluations.reading_times.table_significance import write_p
from recency.figures import comparison, style, tables
from recency.figures.tables import Cell, Table

PRODUCT = {
    "makes": {"out": ("table_conditions", "Responses and surprisal by condition")},
    "reads": ["conditions"],
    "settings": ["lms", "title", "measure"],
    "summary": ("table_conditions.csv", "{title}: responses and surprisal by condition"),
}

NOTE = (
    "means over stimuli, 95 % interval (Student's t) beneath; difference from the first condition, paired "
    "over stimuli, two-sided p beneath; a region's surprisal is the sum of its words'"
)


def labels_of(lms: Iterable[Mapping], measure: str) -> dict[str, str]:
    """Return the label of the response and of each LM.

    Parameters
    ----------
    lms : iterable of mapping
        With the keys lm and label.
    measure : str
        The response's measure.
    """
    return {RESPONSE: measure} | {lm["lm"]: lm["label"] for lm in lms}


def layout(rows: pd.DataFrame, title: str) -> Table:
    """Return a table with a row for each region and condition, and two columns for each variable.

    Parameters
    ----------
    rows : DataFrame
        `means.COLUMNS`, and label.
    title : str
        The table's title.
    """
    variables = rows.drop_duplicates("variable")
    several = rows["region"].nunique() > 1
    above = [Cell(span=3 if several else 2)]
    above += [Cell(style.with_unit(v.label, v.unit), span=2) for v in variables.itertuples()]
    header = [*([Cell("Region", left=True)] if several else []), Cell("Condition", left=True)]
    header += [Cell("Stimuli"), *[Cell("mean"), Cell("difference")] * len(variables)]
    grid, rules, before = [], [], None
    for (region, condition), part in rows.groupby(["region", "condition"], sort=False):
        by_variable = part.set_index("variable")
        if before not in (None, region):
            rules.append(len(grid))
        before = region
        cells = [Cell(region.replace("_", " "), left=True)] if several else []
        cells += [Cell(str(condition), left=True), Cell(str(part["stimuli"].max()))]
        for name in variables["variable"]:
            cells += (
                _cells(by_variable.loc[name]) if name in by_variable.index else [Cell(), Cell()]
            )
        grid.append(cells)
    return Table(title, [above, header], grid, [NOTE], tuple(rules))


def _cells(row: pd.Series) -> list[Cell]:
    decimals = 0 if row.unit == "ms" else 2
    ends = f"{style.number(row.low, decimals)} to {style.number(row.high, decimals)}"
    mean = Cell(style.number(row["mean"], decimals), () if math.isnan(row.low) else (ends,))
    if math.isnan(row.difference):
        return [mean, Cell()]
    told = () if math.isnan(row.p) else (f"p {write_p(row.p)}",)
    return [mean, Cell(style.signed(row.difference, decimals), told)]


def main(
    *,
    conditions: str | Path,
    out: Iterable[str | Path],
    lms: Iterable[Mapping],
    measure: str,
    title: str = "Responses and surprisal by condition",
) -> None:
    """Write the table to `out` (.csv tidy, .html, .tex).

    Parameters
    ----------
    conditions : path
        The CSV of `means.main`.
    out : iterable of path
        The files.
    lms : iterable of mapping
        With the keys lm and label.
    measure, title : str
        The response's measure, and the table's title.
    """
    rows = read(conditions, lms, measure)
    tables.write(out, layout(rows, title), rows)


def read(path: str | Path, lms: Iterable[Mapping], measure: str) -> pd.DataFrame:
    """Return `means.COLUMNS` with labels, as text where they are names."""
    rows = comparison.table(path, COLUMNS)
    rows["region"] = rows["region"].fillna("").astype(str)
    rows["condition"] = rows["condition"].astype(str)
    rows["unit"] = rows["unit"].fillna("").astype(str)
    rows.insert(3, "label", rows["variable"].map(labels_of(lms, measure)))
    return rows


def summary(path: str | Path) -> Table:
    """Return the table of the summary, from this table's CSV."""
    rows = comparison.table(path, ["label", *COLUMNS])
    for name in ("region", "unit", "condition"):
        rows[name] = rows[name].fillna("").astype(str)
    return layout(rows, "")
