"""Structural probe at each LM's best layer (chosen on dev), with its embeddings and controls."""

import pandas as pd

from recency.evaluations.probe.figure import COLUMNS, read
from recency.figures import comparison, tables
from recency.figures.comparison import LM, Described
from recency.figures.paths import Files
from recency.figures.tables import Cell, Row, Table

PRODUCT = {
    "makes": {"out": ("table_probe", "Table of trees in the layers")},
    "reads": ["probes"],
    "settings": ["lms", "relations"],
}

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


def main(*, probes: Files, out: Files, lms: Described, relations: list[str]) -> None:
    """Write the table to `out` (.csv tidy, with all layers; .html, .tex).

    `probes` are structural_probe's files in the order of `lms`.
    """
    models, _ = comparison.records(lms, [])
    rows = read(probes, models)
    best = rows.lm.map(best_layers(rows))
    data = rows.assign(best=(rows.layer == best) & (rows.network == "trained"))
    data = data[["lm", "label", *COLUMNS, "best"]]
    tables.write(out, layout(rows, models, relations), data)
