"""Attention of each head by kind of dependency (Clark et al. 2025, Figure 5), with controls.

Numbers of dependencies by reading of the trees, compared with the paper's counts.
"""

from fractions import Fraction

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from recency.figures import comparison, style, tables
from recency.figures.comparison import LM, View
from recency.figures.paths import File, Files
from recency.figures.tables import Cell, Table

PRODUCTS = {
    "figure_attention_heads": {
        "makes": {"out": ("figure_attention_heads", "Attention from heads to dependents")},
        "reads": ["heads"],
        "settings": ["lms"],
        "published": "dependencies",
        "summary": ("figure_attention_heads.csv", "{title}"),
    },
    "table_dependencies": {
        "makes": {"out": ("table_dependencies", "Dependencies")},
        "reads": ["counts"],
        "published": "dependencies",
    },
}


NAMES = {
    "first_argument": "First argument",
    "second_argument": "Second argument",
    "coreference": "Coreference",
}
COLUMNS = ["type", "layer", "head", "slope", "dependencies", "left_out", "distance", "attention",
           "control", "difference", "low", "high", "p", "p_holm", "texts", "windows"]  # fmt: skip
ALPHA = 0.05
BARS = 16  # maximum number of heads drawn as bars; more are drawn as a map


def name(slope: float, head: int) -> str:
    """Return a head's slope (1/16), or its number if it has none."""
    if not np.isfinite(slope):
        return str(head)
    fraction = Fraction(slope).limit_denominator(4096)
    return str(fraction) if fraction == Fraction(slope) else f"{slope:.3g}"


def draw(rows: pd.DataFrame, lms: list[LM], words: list[str]) -> Figure:
    """Draw a row per LM and a column per kind of dependency, on one scale."""
    kinds = [kind for kind in NAMES if (rows.type == kind).any()]
    lms = [lm for lm in lms if (rows.lm == lm.lm).any()]
    bars = _as_bars(rows)
    height = 0.75 + 1.55 * len(lms) if bars else 0.75 + 2.0 * len(lms)
    figure = style.figure(height)
    grid = figure.subplots(len(lms), len(kinds), squeeze=False)
    highest = np.maximum(rows.attention, rows.control + rows.high).groupby(rows.type).max()
    for row, lm in zip(grid, lms):
        for axes, kind in zip(row, kinds):
            panel = rows[(rows.lm == lm.lm) & (rows.type == kind)].sort_values(["layer", "head"])
            if bars:
                _bars(axes, panel, style.looks(lms)[lm.lm])
                axes.set_ylim(0, 1.35 * max(highest[kind], 1e-9))  # room for ns and the layers
            else:
                _map(figure, axes, panel)
            if axes in grid[0]:
                n = panel.dependencies.iloc[0] if len(panel) else 0
                axes.set_title(f"{NAMES[kind]}\nn = {n:,}", size=8.5)
        row[0].set_ylabel(f"{lm.label}\n{'attention' if bars else 'layer'}")
    if bars:
        _key(figure)
    style.notes(figure, words)
    return figure


def _as_bars(rows: pd.DataFrame) -> bool:
    """Return whether every LM has few enough heads for bars."""
    return rows.groupby("lm")[["layer", "head"]].max().prod(axis=1).max() <= BARS


def _bars(axes, panel: pd.DataFrame, look: style.Look) -> None:
    """Draw a bar per head, its control as a dash, and the interval of the difference."""
    x = np.arange(len(panel)) + 0.7 * (panel.layer.to_numpy() - 1)
    above = (panel.attention >= panel.control).to_numpy()
    for some, face, hatch in ((above, look.bar, None), (~above, "white", "//////")):
        axes.bar(x[some], panel.attention[some], 0.8, color=face, edgecolor=look.colour, lw=0.8,
                 hatch=hatch)  # fmt: skip
    low, high = panel.control + panel.low, panel.control + panel.high
    axes.vlines(x, low, high, color="black", lw=0.9, zorder=3)
    axes.hlines(panel.control, x - 0.46, x + 0.46, color="black", lw=1.6, zorder=4)
    top = np.maximum(np.maximum(panel.attention, high), panel.control)
    for centre, height, p in zip(x, top, panel.p_holm):
        if p >= ALPHA:
            axes.annotate("ns", (centre, height), xytext=(0, 1), textcoords="offset points",
                          ha="center", va="bottom", size=style.SMALL, color=style.GREY)  # fmt: skip
    axes.set_xticks(x, [name(s, h) for s, h in zip(panel.slope, panel["head"])], rotation=90)
    axes.tick_params(axis="x", length=0)
    for layer, places in pd.Series(x).groupby(panel.layer.to_numpy()):
        axes.annotate(f"layer {layer}", (places.mean(), 1), xycoords=("data", "axes fraction"),
                      ha="center", va="top", size=style.SMALL, color=style.GREY)  # fmt: skip
    axes.grid(axis="y")
    axes.yaxis.set_major_formatter(style.tick)


def _map(figure: Figure, axes, panel: pd.DataFrame) -> None:
    """Draw layers × heads, coloured by attention minus control."""
    values = panel.pivot(index="layer", columns="head", values="difference")
    most = np.abs(values.to_numpy()).max() or 1
    image = axes.imshow(values, cmap="PuOr_r", vmin=-most, vmax=most, aspect="auto")
    figure.colorbar(image, ax=axes, label="attention − control", format=style.tick)
    for axis, names in ((axes.xaxis, values.columns), (axes.yaxis, values.index)):
        step = -(-len(names) // 6)
        axis.set_ticks(range(0, len(names), step), names[::step])
    axes.set_xlabel("head")


def _key(figure: Figure) -> None:
    """Draw the legend of the bars."""
    handles = [
        Patch(facecolor="#b0b0b0", edgecolor="#808080", label="dependencies"),
        Patch(facecolor="white", edgecolor="#808080", hatch="//////", label="below random places"),
        style.handle(color="black", lw=1.6, label="random places, same distance"),
        style.handle(color="black", lw=0.9, marker="|", ms=8, ls="", label="95 % of the difference"),
    ]  # fmt: skip
    figure.legend(handles=handles, loc="outside upper left", ncols=4,
                  columnspacing=1.1, handletextpad=0.6, borderpad=0.2)  # fmt: skip


def sentences(rows: pd.DataFrame, lms: list[LM], published: pd.DataFrame | None) -> list[str]:
    """Return notes on the bars, excluded dependencies, and the published strongest heads."""
    lines = ["Colours: attention to dependents minus that to random places at the same distances"]
    if _as_bars(rows):
        test = f"p ≥ {style.tick(ALPHA)} against random places (Holm over all bars of an LM)"
        lines = [f"Heads: by slope, or number. ns: {test}"]
    lines += _read_in_windows(rows, lms)
    for lm in lms:
        mine = rows[rows.lm == lm.lm]
        if published is not None and lm.applied == "training" and mine.slope.nunique() > 1:
            lines.append(_strongest(mine, lm, published))
    return lines


def _read_in_windows(rows: pd.DataFrame, lms: list[LM]) -> list[str]:
    """Return a note on texts that were cut and dependencies lost, shared by LMs where equal."""
    groups: dict[tuple[int, ...], list[str]] = {}
    for lm in lms:
        mine = rows[rows.lm == lm.lm]
        if len(mine) and mine.windows.iloc[0] > mine.texts.iloc[0]:
            lost = int(mine.groupby("type").left_out.first().sum())
            groups.setdefault((*mine[["texts", "windows"]].iloc[0], lost), []).append(lm.label)
    return [
        f"{', '.join(names)}: {texts} texts in {windows} overlapping windows; {lost:,} dependencies "
        "that no window contains are excluded"
        for (texts, windows, lost), names in groups.items()
    ]


def _strongest(mine: pd.DataFrame, lm: LM, published: pd.DataFrame) -> str:
    """Return the layers whose strongest head differs from the paper's."""
    others, same = [], 0
    for kind, title in NAMES.items():
        ours = mine[mine.type == kind]
        for layer in sorted(ours.layer.unique()):
            best = ours[ours.layer == layer].sort_values("attention").iloc[-1]
            column = f"layer_{layer}"
            if kind not in published.index or column not in published:
                continue
            theirs = [float(head) for head in str(published.loc[kind, column]).split()]
            if best.slope in theirs:
                same += 1
                continue
            there = " or ".join(name(head, 0) for head in theirs)
            here = name(best.slope, best["head"])
            others.append(f"{title.lower()}, layer {layer}, {here} ({there})")
    if not others:
        return f"Strongest heads of {lm.label}: as in the paper"
    start = f"Strongest heads of {lm.label}, where different from the paper (in brackets)"
    return f"{start if same else start.replace('where ', '')}: {'; '.join(others)}"


def figure_attention_heads(view: View, heads: Files, out: Files) -> None:
    """Draw the figure to `out` (.pdf, .svg, .png, and its data as .csv).

    `heads` are attention_heads' summaries in the order of the LMs; published has dependency, count
    and the slopes of the strongest heads of each layer, as stated in the paper's text.
    """
    models = view.lms
    rows = comparison.joined(models, (comparison.table(path, COLUMNS)[COLUMNS] for path in heads))
    data = rows[["lm", "label", *COLUMNS]].copy()
    there = view.published_rows(["dependency", "count"])
    if there is not None:
        there = there.set_index("dependency")
        data["published_dependencies"] = data.type.map(there["count"])
        data["published_strongest"] = [
            there.get(f"layer_{row.layer}", pd.Series(dtype=str)).get(row.type, "")
            for row in data.itertuples()
        ]
    style.write(out, data, draw, rows, models, sentences(rows, models, there))


def summary(path: File) -> Table:
    """Return the strongest head for each kind of dependency, with its control, by LM."""
    rows = comparison.table(path, ["lm", "label", *COLUMNS])
    grid = []
    for label, mine in rows.groupby("label", sort=False):
        cells = [label]
        for kind in NAMES:
            ours = mine[mine.type == kind].sort_values("attention")
            if ours.empty:
                cells.append("\N{EN DASH}")
                continue
            best = ours.iloc[-1]
            head = name(best.slope, best["head"])
            text = f"{best.attention:.3f} ({best.control:.3f}), {head} in layer {best.layer}"
            cells.append(text)
        grid.append(cells)
    notes = ["the head with most attention to dependents (in parentheses: to random positions)"]
    return Table("", ["LM", *NAMES.values()], grid, notes)


NOTES = [
    "dependencies whose head follows its dependent; bold: the reading in use",
    "between tokens of the trees; between words, excluding those inside a word (a possessive 's)",
    "graph: referents and their predicates; categories: the fillers of slots of categories",
    "antecedents: with antecedents of relative pronouns",
    "raising: with the subjects of predicates under auxiliaries and raising verbs",
]


def layout(
    rows: pd.DataFrame, published: pd.Series, source: str = "Clark et al. (2025), section 7.1"
) -> Table:
    """Return one row per reading, and the paper's counts."""
    header = [
        ["", *(Cell(text, span=2) for text in NAMES.values())],
        [Cell("Reading", left=True), *["tokens", "words"] * len(NAMES)],
    ]
    grid = []
    for reading, counts in rows.groupby("reading", sort=False):
        value = counts.set_index("type")
        chosen = bool(counts.chosen.any())
        row = [Cell(reading, left=True, bold=chosen)]
        for kind in NAMES:
            for unit in ("tokens", "words"):
                count = int(value.loc[kind, unit])
                below = (style.signed(count - published[kind], 0),) if kind in published else ()
                row.append(Cell(f"{count:,}", below=below, bold=chosen))
        grid.append(row)
    notes = list(NOTES)
    if len(published):
        paper = [Cell(f"{int(published[k]):,}" if k in published else "–", span=2) for k in NAMES]
        grid.append(["published", *paper])
        notes.append(f"published: {source}; below each count: its difference from that")
    rules = (len(grid) - 1,) if len(published) else ()
    return Table("Dependencies", header, grid, notes, rules)


def table_dependencies(view: View, counts: File, out: Files) -> None:
    """Write the table to `out` (.csv tidy, .html, .tex)."""
    rows = comparison.table(counts, ["reading", "type", "tokens", "words", "chosen"])
    paper = view.published_rows(["dependency", "count"])
    there = pd.Series(dtype=float) if paper is None else paper.set_index("dependency")["count"]
    data = rows.assign(published=rows.type.map(there).astype("Int64"))
    tables.write(out, layout(rows, there), data)
