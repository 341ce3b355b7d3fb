"""Structural probe by layer: all edges, and one small panel per relation.

Structural probe at each LM's best layer (chosen on dev), with its embeddings and controls.
"""

import pandas as pd
from matplotlib.figure import Figure

from recency.figures import comparison, style, tables
from recency.figures.comparison import LM, View
from recency.figures.paths import Files
from recency.figures.tables import Cell, Row, Table

PRODUCTS = {
    "figure_probe": {
        "makes": {"out": ("figure_probe", "Trees in the layers")},
        "reads": ["probes"],
        "settings": ["lms", "baseline", "relations"],
    },
    "table_probe": {
        "makes": {"out": ("table_probe", "Table of trees in the layers")},
        "reads": ["probes"],
        "settings": ["lms", "relations"],
    },
}


COLUMNS = ["network", "layer", "relation", "n", "uuas", "spearman", "dev_loss", "epochs"]
ACROSS = 4  # panels of relations in a row
DASHED = (0, (4, 2))
FEW = 4  # maximum number of LMs for untrained networks in the small panels


def read(probes: Files, lms: list[LM]) -> pd.DataFrame:
    """Return structural_probe's tables concatenated, with columns lm and label."""
    rows = comparison.joined(lms, (comparison.table(path, COLUMNS)[COLUMNS] for path in probes))
    return rows.astype({"layer": "Int64", "epochs": "Int64"})


def draw(
    rows: pd.DataFrame, lms: list[LM], baseline: str, relations: list[str], words: list[str]
) -> Figure:
    """Draw UUAS and Spearman by layer, above UUAS of each relation of the treebank."""
    shown = [relation for relation in relations if (rows.relation == relation).any()]
    lines = -(-len(shown) // ACROSS)
    height = 2.6 + 1.45 * lines + 0.2 * (len(lms) // 4)
    figure = style.figure(height)
    above, below = figure.subfigures(2, 1, height_ratios=(2.2, 0.2 + 1.45 * lines))
    uuas, spearman = above.subplots(1, 2)
    every = rows[rows.relation == "all"]
    handles = _panel(uuas, every, "uuas", lms, baseline, True)
    _panel(spearman, every, "spearman", lms, baseline, True)
    uuas.set_title(f"UUAS (n = {_count(every)})")
    spearman.set_title("Spearman of distances")
    panels = below.subplots(max(lines, 1), ACROSS, squeeze=False, sharex=True)
    for number, axes in enumerate(panels.flat):
        if number >= len(shown):
            axes.remove()
            continue
        part = rows[rows.relation == shown[number]]
        _panel(axes, part, "uuas", lms, baseline, len(lms) <= FEW)
        axes.set_title(f"{shown[number]} (n = {_count(part)})", size=style.SMALL)
        axes.tick_params(labelbottom=True)
    for axes in (uuas, *panels[:, 0]):
        axes.set_ylabel("UUAS")
    for axes in (uuas, spearman):
        axes.set_xlabel("layer")
    below.supxlabel("layer", size=style.SMALL)
    figure.legend(handles=handles, loc="outside upper left", ncols=4, columnspacing=1.2,
                  handletextpad=0.5, borderpad=0.2)  # fmt: skip
    style.notes(figure, words)
    return figure


def _count(rows: pd.DataFrame) -> str:
    """Return the number of edges, or its range if tokenizers dropped words of some sentences."""
    counts = sorted({int(count) for count in rows.n})
    return " to ".join(f"{count:,}" for count in dict.fromkeys((counts[0], counts[-1])))


def _panel(axes, rows: pd.DataFrame, value: str, lms: list[LM], baseline: str, fresh: bool) -> list:
    """Draw a line per LM, the baseline's bold, and neighbours; return handles for a legend.

    Untrained networks are dashed: all of them, or only the baseline's if `fresh` is false.
    """
    looks, handles = style.looks(lms, apart=True), []
    for lm in lms:
        mine = rows[rows.lm == lm.lm].sort_values("layer")
        line, twin = (mine[mine.network == name] for name in ("trained", "untrained"))
        strong, look = lm.lm == baseline, looks[lm.lm]
        handles += axes.plot(
            line.layer.astype(float), line[value], color=look.colour, marker=look.marker,
            markerfacecolor=look.face,
            ms=3.5 if strong else 3, lw=2 if strong else 1, zorder=3 if strong else 2,
            label=lm.label,
        )  # fmt: skip
        if len(twin) and (fresh or strong):
            axes.plot(
                twin.layer.astype(float), twin[value], color=look.colour, lw=0.9, ls=DASHED,
                label=f"{lm.label}, untrained",
            )  # fmt: skip
    if (rows.network == "untrained").any():
        handles.append(style.handle(color=style.GREY, lw=0.9, ls=DASHED, label="untrained"))
    neighbours = rows.loc[rows.network == "adjacent words", value].mean()
    handles.append(axes.axhline(neighbours, color=style.GREY, lw=1, ls=":", label="adjacent words"))
    axes.xaxis.get_major_locator().set_params(integer=True, nbins=7, min_n_ticks=1)
    axes.yaxis.set_major_formatter(style.tick)
    axes.grid()
    return handles


def sentences(rows: pd.DataFrame, relations: list[str]) -> list[str]:
    """Return notes on the lines, and on relations missing in the treebank."""
    lines = [
        "UUAS: share of the gold edges in the minimum spanning tree of the predicted distances"
    ]
    lines.append("Layer 0: embeddings; adjacent words: a tree that joins neighbours")
    if (rows.network == "untrained").any():
        lines.append("Dashed: an untrained network with the same architecture and bias")
    lacking = [relation for relation in relations if not (rows.relation == relation).any()]
    if lacking:
        lines.append(f"The treebank's test split has no edge {', '.join(lacking)}")
    return lines


def figure_probe(view: View, probes: Files, out: Files, relations: list[str]) -> None:
    """Draw the figure to `out` (.pdf, .svg, .png, and all relations as .csv).

    `probes` are structural_probe's files in the order of the LMs.
    """
    rows = read(probes, view.lms)
    data, words = rows[["lm", "label", *COLUMNS]], sentences(rows, relations)
    style.write(out, data, draw, rows, view.lms, view.baseline, relations, words)


NOTES = [
    "UUAS: share of the test split's gold edges in the predicted tree, in percent; without punctuation",
    "Layer: the layer with the lowest loss on dev; the CSV has all layers and relations",
    "Untrained: the same layer of an untrained network with the same architecture",
    "Spearman: correlation of distances, averaged over sentences of a length, then over lengths 5 to 50",
]


def best_layers(rows: pd.DataFrame) -> pd.Series:
    """Return lm → the layer of its trained network with the lowest loss on dev."""
    chosen = rows[(rows.relation == "all") & (rows.network == "trained")]
    chosen = chosen.loc[chosen.groupby("lm").dev_loss.idxmin()]
    return chosen.set_index("lm").layer.astype(int)


def layout(rows: pd.DataFrame, lms: list[LM], relations: list[str]) -> Table:
    """Return neighbours, then for each LM its best layer, its embeddings and the untrained layer."""
    relations = [relation for relation in relations if (rows.relation == relation).any()]
    header = ["Network", "Layer", "UUAS", "Spearman", *relations]
    best = best_layers(rows)
    neighbours = rows[(rows.lm == lms[0].lm) & (rows.network == "adjacent words")]
    grid, rules = [_row("adjacent words", None, neighbours, relations)], []
    for lm in lms:
        mine, layer = rows[rows.lm == lm.lm], int(best[lm.lm])
        rules.append(len(grid))
        for label, network, at in (
            (lm.label, "trained", layer),
            (f"{lm.label}, embeddings", "trained", 0),
            (f"{lm.label}, untrained", "untrained", layer),
        ):
            part = mine[(mine.network == network) & (mine.layer == at)]
            if len(part) and not (label != lm.label and network == "trained" and layer == 0):
                grid.append(_row(label, at, part, relations, bold=label == lm.label))
    return Table("Structural probe", header, grid, NOTES, tuple(rules))


def _row(
    label: str, layer: int | None, part: pd.DataFrame, relations: list[str], bold: bool = False
) -> Row:
    """Return the row of one network's layer."""
    value = part.set_index("relation")
    shares = [value.uuas.get(relation, float("nan")) for relation in relations]
    return [
        Cell(label, left=True, bold=bold),
        "–" if layer is None else str(layer),
        Cell(f"{100 * value.uuas['all']:.1f}", bold=bold),
        f"{value.spearman['all']:.3f}",
        *("–" if pd.isna(share) else f"{100 * share:.1f}" for share in shares),
    ]


def table_probe(view: View, probes: Files, out: Files, relations: list[str]) -> None:
    """Write the table to `out` (.csv tidy, with all layers; .html, .tex).

    `probes` are structural_probe's files in the order of the LMs.
    """
    rows = read(probes, view.lms)
    best = rows.lm.map(best_layers(rows))
    data = rows.assign(best=(rows.layer == best) & (rows.network == "trained"))
    data = data[["lm", "label", *COLUMNS, "best"]]
    tables.write(out, layout(rows, view.lms, relations), data)
