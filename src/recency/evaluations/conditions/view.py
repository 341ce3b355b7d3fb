"""Mean response and mean surprisal by condition, and their differences from the first condition.

Mean response and mean surprisal by condition, with 95 % intervals over stimuli.
"""

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from recency.evaluations.conditions.means import COLUMNS, RESPONSE
from recency.figures import comparison, style, tables
from recency.figures.comparison import LM, Described
from recency.figures.paths import File, Files
from recency.figures.tables import Cell, Row, Table

PRODUCTS = {
    "figure_conditions": {
        "makes": {"out": ("figure_conditions", "Responses and surprisal by condition")},
        "reads": ["conditions"],
        "settings": ["lms", "measure"],
    },
    "table_conditions": {
        "makes": {"out": ("table_conditions", "Responses and surprisal by condition")},
        "reads": ["conditions"],
        "settings": ["lms", "title", "measure"],
        "summary": ("table_conditions.csv", "{title}: responses and surprisal by condition"),
    },
}


NOTE = (
    "means over stimuli, 95 % interval (Student's t) beneath; difference from the first condition, paired "
    "over stimuli, two-sided p beneath; a region's surprisal is the sum of its words'"
)


def labels_of(lms: Described, measure: str) -> dict[str, str]:
    """Return the label of the response and of each LM."""
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
    header += ["Stimuli", *["mean", "difference"] * len(variables)]
    grid, rules, before = [], [], None
    for (region, condition), part in rows.groupby(["region", "condition"], sort=False):
        by_variable = part.set_index("variable")
        if before not in (None, region):
            rules.append(len(grid))
        before = region
        cells = [region.replace("_", " ")] if several else []
        cells += [str(condition), str(part["stimuli"].max())]
        for name in variables["variable"]:
            cells += _cells(by_variable.loc[name]) if name in by_variable.index else ["", ""]
        grid.append(cells)
    return Table(title, [above, header], grid, [NOTE], tuple(rules))


def _cells(row: pd.Series) -> Row:
    decimals = 0 if row.unit == "ms" else 2
    ends = f"{style.number(row.low, decimals)} to {style.number(row.high, decimals)}"
    mean = Cell(style.number(row["mean"], decimals), () if math.isnan(row.low) else (ends,))
    if math.isnan(row.difference):
        return [mean, ""]
    note = () if math.isnan(row.p) else (f"p {style.p_value(row.p)}",)
    return [mean, Cell(style.signed(row.difference, decimals), note)]


def table_conditions(
    *,
    conditions: File,
    out: Files,
    lms: Described,
    measure: str,
    title: str = "Responses and surprisal by condition",
) -> None:
    """Write the table to `out` (.csv tidy, .html, .tex).

    `conditions` is the CSV of `means.main`, `lms` have lm and label, `measure` is the response's.
    """
    rows = read(conditions, lms, measure)
    tables.write(out, layout(rows, title), rows)


def read(path: File, lms: Described, measure: str) -> pd.DataFrame:
    """Return `means.COLUMNS` with labels, as text where they are names."""
    rows = comparison.table(path, COLUMNS)
    rows["region"] = rows["region"].fillna("").astype(str)
    rows["condition"] = rows["condition"].astype(str)
    rows["unit"] = rows["unit"].fillna("").astype(str)
    rows.insert(3, "label", rows["variable"].map(labels_of(lms, measure)))
    return rows


def summary(path: File) -> Table:
    """Return the summary's table, from this table's CSV."""
    rows = comparison.table(path, ["label", *COLUMNS])
    for name in ("region", "unit", "condition"):
        rows[name] = rows[name].fillna("").astype(str)
    return layout(rows, "")


_HEIGHT = 2.3  # height in inches of a region's panels
_SPREAD = 0.2  # LMs' spread, as a share of the distance between two conditions


def draw(rows: pd.DataFrame, lms: list[LM]) -> Figure:
    """Draw a row for each region: the response by condition, and the surprisal of each LM.

    Parameters
    ----------
    rows : DataFrame
        Output of `table.read`.
    lms : list of LM
        The LMs, in their order.
    """
    looks, regions = style.looks(lms, apart=True), list(pd.unique(rows["region"]))
    figure = style.figure(_HEIGHT * len(regions) + 0.6)
    grid = figure.subplots(len(regions), 2, squeeze=False)
    for (left, right), region in zip(grid, regions, strict=True):
        part = rows[rows["region"] == region]
        places = {condition: n for n, condition in enumerate(pd.unique(part["condition"]))}
        block = part[part["variable"] == RESPONSE]
        _line(left, block, places, 0.0, {"color": "black", "marker": "o"})
        shifts = np.linspace(-0.5, 0.5, len(lms)) * _SPREAD if len(lms) > 1 else [0.0]
        for lm, shift in zip(lms, shifts, strict=True):
            look = looks[lm.lm]
            how = {"color": look.colour, "marker": look.marker, "mfc": look.face, "label": lm.label}
            _line(right, part[part["variable"] == lm.lm], places, shift, how)
        name = region.replace("_", " ")
        left.set_ylabel(style.with_unit(block["label"].iloc[0], block["unit"].iloc[0]))
        right.set_ylabel("Surprisal (bits)")
        for axes in (left, right):
            axes.set_xticks(list(places.values()), list(places))
            axes.set_xlim(-0.5, len(places) - 0.5)
            axes.grid(axis="y")
            if len(regions) > 1:
                axes.set_title(name, loc="left")
    handles = grid[0][1].get_legend_handles_labels()[0]
    figure.legend(handles=handles, loc="outside upper left", ncols=3)
    return figure


def _line(axes, rows: pd.DataFrame, places: Mapping, shift: float, how: Mapping) -> None:
    """Draw means and their intervals."""
    x = rows["condition"].map(places).to_numpy(dtype=float) + shift
    mean = rows["mean"].to_numpy()
    ends = np.nan_to_num(np.stack([mean - rows["low"], rows["high"] - mean]))
    axes.errorbar(x, mean, ends, lw=1, elinewidth=0.9, capsize=2, ms=5, **how)


def figure_conditions(*, conditions: File, out: Files, lms: Described, measure: str) -> None:
    """Draw the figure to `out` (.pdf, .svg, .png; .csv for the values).

    `conditions` is the CSV of `means.main`, `lms` have lm and label, `measure` is the response's.
    """
    lms = list(lms)
    rows = read(conditions, lms, measure)
    models, _ = comparison.records(lms, [])
    style.write(out, rows, draw, rows, models)
