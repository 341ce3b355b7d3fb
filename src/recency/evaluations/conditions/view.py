"""Figures and tables of conditions: means with their differences, effects of items, and predicted effects."""

import math
from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from recency.evaluations.conditions.compute import (
    EFFECTS,
    ITEMS,
    MEANS,
    READERS,
    RESPONSE,
    UNPOOLED,
)
from recency.figures import comparison, style, tables
from recency.figures.comparison import LM, View
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
        "summary": (
            "table_conditions.csv",
            "{title}: responses and surprisal by condition",
            "summary_of_means",
        ),
    },
    "figure_item_effects": {
        "makes": {"out": ("figure_item_effects", "Effects of items, partially pooled")},
        "reads": ["effects", "by_item=effects_by_item"],
        "when": "contrasts",
    },
    "figure_predicted_effects": {
        "makes": {"out": ("figure_predicted_effects", "Effects predicted from surprisal")},
        "reads": ["effects", "by_item=effects_by_item"],
        "settings": ["lms"],
        "when": "fillers",
    },
    "table_predicted_effects": {
        "makes": {"out": ("table_predicted_effects", "Observed and predicted effects")},
        "reads": ["effects"],
        "settings": ["lms", "title"],
        "when": "contrasts",
        "summary": (
            "table_predicted_effects.csv",
            "{title}: observed and predicted effects",
            "summary_of_effects",
        ),
    },
}


NOTE_ON_MEANS = (
    "means over stimuli, 95 % interval (Student's t) beneath; difference from the first condition, paired "
    "over stimuli, two-sided p beneath; a region's surprisal is the sum of its words'"
)


def read_means(view: View, path: File, measure: str) -> pd.DataFrame:
    """Return `compute.MEANS` with labels of the response and LMs, as text where they are names."""
    rows = comparison.table(path, MEANS)
    rows["region"] = rows["region"].fillna("").astype(str)
    rows["condition"] = rows["condition"].astype(str)
    rows["unit"] = rows["unit"].fillna("").astype(str)
    rows.insert(3, "label", rows["variable"].map({RESPONSE: measure} | view.labels))
    return rows


def table_of_means(rows: pd.DataFrame, title: str) -> Table:
    """Return a table with a row for each region and condition, and two columns for each variable.

    Parameters
    ----------
    rows : DataFrame
        `compute.MEANS`, and label.
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
    return Table(title, [above, header], grid, [NOTE_ON_MEANS], tuple(rules))


def _cells(row: pd.Series) -> Row:
    decimals = 0 if row.unit == "ms" else 2
    ends = f"{style.number(row.low, decimals)} to {style.number(row.high, decimals)}"
    mean = Cell(style.number(row["mean"], decimals), () if math.isnan(row.low) else (ends,))
    if math.isnan(row.difference):
        return [mean, ""]
    note = () if math.isnan(row.p) else (f"p {style.p_value(row.p)}",)
    return [mean, Cell(style.signed(row.difference, decimals), note)]


def table_conditions(view: View, conditions: File, out: Files, measure: str) -> None:
    """Write the table to `out` (.csv tidy, .html, .tex).

    `conditions` is the CSV of `compute.main`, `measure` is the response's.
    """
    rows = read_means(view, conditions, measure)
    tables.write(out, table_of_means(rows, view.title), rows)


def summary_of_means(path: File) -> Table:
    """Return the summary's table, from this table's CSV."""
    rows = comparison.table(path, ["label", *MEANS])
    for name in ("region", "unit", "condition"):
        rows[name] = rows[name].fillna("").astype(str)
    return table_of_means(rows, "")


_HEIGHT = 2.3  # height in inches of a region's panels
_SPREAD = 0.2  # LMs' spread, as a share of the distance between two conditions


def draw_means(rows: pd.DataFrame, lms: list[LM]) -> Figure:
    """Draw a row for each region: the response by condition, and the surprisal of each LM.

    Parameters
    ----------
    rows : DataFrame
        Output of `read_means`.
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
            lines = [name.replace(" ", "\n") for name in places]  # of several factors, a line each
            axes.set_xticks(list(places.values()), lines)
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


def figure_conditions(view: View, conditions: File, out: Files, measure: str) -> None:
    """Draw the figure to `out` (.pdf, .svg, .png; .csv for the values).

    `conditions` is the CSV of `compute.main`, `measure` is the response's.
    """
    rows = read_means(view, conditions, measure)
    style.write(out, rows, draw_means, rows, view.lms)


def read_effects(path: File, columns: Iterable[str], lms: Iterable[LM]) -> pd.DataFrame:
    """Return the rows with `label` of the source and `panel` of the contrast and region."""
    rows = comparison.table(path, columns)
    for name in ("region", "unit", "note"):
        if name in rows:
            rows[name] = rows[name].fillna("").astype(str)
    labels = {READERS: "readers", UNPOOLED: "readers, unpooled"}
    rows["label"] = rows.source.map(labels | {lm.lm: lm.label for lm in lms})
    region = rows.region.str.replace("_", " ")
    rows["panel"] = rows.contrast_label + region.where(region == "", ", " + region)
    return rows


_ROW = 0.15  # inches per item
_ACROSS = 3  # panels per row


def draw_items(totals: pd.DataFrame, items: pd.DataFrame) -> Figure:
    """Draw a panel for each contrast and region; items are sorted by the pooled estimate."""
    panels = list(dict.fromkeys(items.panel))
    across = min(_ACROSS, len(panels))
    down = math.ceil(len(panels) / across)
    most = items[items.source == READERS].groupby("panel").size().max()
    figure = style.figure(down * (_ROW * most + 0.8) + 0.4)
    grid = figure.subplots(down, across, squeeze=False)
    for axes in grid.flat[len(panels) :]:
        axes.set_axis_off()
    for axes, panel in zip(grid.flat, panels, strict=False):
        mine = items[items.panel == panel]
        pooled = mine[mine.source == READERS].sort_values("effect")
        plain = mine[mine.source == UNPOOLED].set_index("item").loc[pooled.item]
        (total,) = totals[(totals.panel == panel) & (totals.source == READERS)].itertuples()
        axes.axvspan(total.low, total.high, color=style.tint(style.GREY), lw=0, zorder=0)
        axes.axvline(total.effect, color=style.GREY, lw=0.8, zorder=1)
        axes.axvline(0, color=style.GREY, lw=0.6, ls=(0, (4, 2)), zorder=1)
        ys = np.arange(len(pooled))
        for rows, shift, look in (
            (plain, -0.18, {"color": "#9a9a9a", "marker": "o", "mfc": "white"}),
            (pooled, 0.18, {"color": "black", "marker": "o"}),
        ):
            ends = np.abs(np.stack([rows.effect - rows.low, rows.high - rows.effect]))
            axes.errorbar(rows.effect, ys + shift, xerr=np.nan_to_num(ends), ls="none", ms=3,
                          elinewidth=0.8, **look)  # fmt: skip
        axes.set_yticks(ys, pooled.item.astype(str), size=style.SMALL)
        axes.set_ylim(-0.7, len(pooled) - 0.3)
        axes.set_title(panel, loc="left")
        axes.set_xlabel(style.with_unit("Effect", total.unit))
        axes.grid(axis="x")
    handles = [
        style.handle(color="black", marker="o", label="partially pooled, 95 % interval"),
        style.handle(color="#9a9a9a", marker="o", mfc="white", label="unpooled"),
        style.handle(color=style.GREY, label="mean effect"),
    ]
    figure.legend(handles=handles, loc="outside upper left", ncols=3)
    return figure


def figure_item_effects(*, effects: File, by_item: File, out: Files) -> None:
    """Draw the figure to `out` (.pdf, .svg, .png; .csv for the values)."""
    totals = read_effects(effects, EFFECTS, [])
    rows = read_effects(by_item, ITEMS, [])
    rows = rows[rows.source.isin([READERS, UNPOOLED])]
    style.write(out, rows, draw_items, totals, rows)


_PANEL = 2.5  # inches
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00")


def paired_with_readers(rows: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Return each LM's effects with the readers' of the same keys: columns …_observed."""
    ends = ["effect", "low", "high"]
    readers = rows[rows.source == READERS].set_index(keys)[ends].add_suffix("_observed")
    return rows[~rows.source.isin([READERS, UNPOOLED])].join(readers, on=keys)


def draw_predicted(totals: pd.DataFrame, items: pd.DataFrame, lms: list[LM]) -> Figure:
    """Draw a row for each construction and a column for each LM; large points are means over items."""
    contrasts, regions = list(dict.fromkeys(totals.contrast)), list(dict.fromkeys(totals.region))
    figure = style.figure(_PANEL * len(contrasts) + 0.5, max(style.WIDTH, _PANEL * len(lms)))
    grid = figure.subplots(len(contrasts), len(lms), sharex="row", sharey="row", squeeze=False)
    looks = {
        region: (_COLOURS[n % len(_COLOURS)], style.MARKERS[(n + 4) % len(style.MARKERS)])
        for n, region in enumerate(regions)
    }
    for across, contrast in zip(grid, contrasts, strict=True):
        for axes, lm in zip(across, lms, strict=True):
            for region, (colour, marker) in looks.items():
                for rows, how in (
                    (items, {"ms": 2.5, "elinewidth": 0.4, "alpha": 0.45}),
                    (totals, {"ms": 7, "elinewidth": 1.2, "mec": "white", "zorder": 4}),
                ):
                    at = (rows.contrast == contrast) & (rows.source == lm.lm)
                    _points(axes, rows[at & (rows.region == region)], color=colour,
                            marker=marker, **how)  # fmt: skip
            axes.axline((0, 0), slope=1, color=style.GREY, lw=0.8, ls=(0, (4, 2)), zorder=1)
            axes.grid(axis="both")
        label, unit = totals.loc[totals.contrast == contrast, ["contrast_label", "unit"]].iloc[0]
        across[0].set_ylabel(f"{label}\n{style.with_unit('observed', unit)}")
        for axes in across:
            axes.set_xlabel(style.with_unit("predicted", unit))
    for axes, lm in zip(grid[0], lms, strict=True):
        axes.set_title(lm.label)
    handles = [
        style.handle(color=colour, marker=marker, label=region.replace("_", " "))
        for region, (colour, marker) in looks.items()
        if region
    ]
    handles += [style.handle(color=style.GREY, ls=(0, (4, 2)), label="predicted = observed")]
    figure.legend(handles=handles, loc="outside upper left", ncols=4)
    return figure


def _points(axes, rows: pd.DataFrame, **how) -> None:
    """Draw points with the intervals of both effects."""
    x, y = ([rows[f"effect{of}"] - rows[f"low{of}"], rows[f"high{of}"] - rows[f"effect{of}"]]
            for of in ("", "_observed"))  # fmt: skip
    axes.errorbar(rows.effect, rows.effect_observed, np.stack(y), np.stack(x), ls="none", **how)


def figure_predicted_effects(view: View, effects: File, by_item: File, out: Files) -> None:
    """Draw the figure to `out` (.pdf, .svg, .png; .csv for the values)."""
    models, keys = view.lms, ["contrast", "region"]
    totals = paired_with_readers(read_effects(effects, EFFECTS, models), keys)
    rows = paired_with_readers(read_effects(by_item, ITEMS, models), [*keys, "item"])
    style.write(out, pd.concat([totals, rows]), draw_predicted, totals, rows, models)


NOTE_ON_EFFECTS = (
    "Readers: the fixed effect of a mixed model with slopes by subject and item, and the sd of the effect over "
    "items. LMs: the effect predicted from their surprisal, converted by the regression on fillers; beneath, the "
    "readers' effect minus the predicted one, and predicted over observed (Fieller; none where the observed effect "
    "does not differ from 0). Bold: observed and predicted effects differ, p < 0.05. 95 % "
    "intervals."
)


def table_predicted_effects(view: View, effects: File, out: Files) -> None:
    """Write the table to `out` (.csv tidy, .html, .tex): a row for each contrast and region."""
    rows = read_effects(effects, EFFECTS, view.lms)
    tables.write(out, table_of_effects(rows, view.title), rows)


def table_of_effects(rows: pd.DataFrame, title: str) -> Table:
    """Return a table with a row per contrast and region, and a column for readers and each LM."""
    labels = rows.drop_duplicates("source").set_index("source").label
    grid = []
    for panel, part in rows.groupby("panel", sort=False):
        by_source = part.set_index("source")
        cells = [_cell(by_source.loc[source]) for source in labels.index]
        grid.append([panel, f"{part['items'].iloc[0]:g}", *cells])
    notes = [f"{row.panel}: {row.note}." for row in rows.itertuples() if row.note]
    return Table(title, ["", "Items", *labels], grid, [NOTE_ON_EFFECTS, *notes])


def _cell(row: pd.Series) -> Cell:
    below = [style.interval(row.low, row.high, style.signed)]
    if row.name == READERS:
        below.append(f"sd {style.number(row.sd_items)}")
        return Cell(style.with_unit(style.signed(row.effect), row.unit), tuple(below))
    ends = style.interval(row.excess_low, row.excess_high, style.signed)
    below.append(f"observed − predicted {style.signed(row.excess)} ({ends})")
    if not math.isnan(row.share_low):
        share = style.interval(row.share_low, row.share_high, style.number, decimals=2)
        below.append(f"predicted / observed {style.number(row.share, 2)} ({share})")
    differs = row.excess_low > 0 or row.excess_high < 0
    return Cell(style.with_unit(style.signed(row.effect), row.unit), tuple(below), bold=differs)


def summary_of_effects(path: File) -> Table:
    """Return the summary's table, from this table's CSV."""
    rows = comparison.table(path, [*EFFECTS, "label", "panel"])
    for name in ("unit", "note"):
        rows[name] = rows[name].fillna("").astype(str)
    return table_of_effects(rows, "")
