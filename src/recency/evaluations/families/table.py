"""Gaps of ΔLogLik within families, without and with part of speech; variance explained by response."""

import math
from collections.abc import Iterable, Mapping

import pandas as pd

from recency.evaluations.families import gaps as computing
from recency.evaluations.families.gaps import GAPS, WITH, WITHOUT
from recency.figures import style, tables
from recency.figures.comparison import Described
from recency.figures.paths import File, Files
from recency.figures.tables import Cell, Table

PRODUCT = {
    "makes": {"out": ("table_families", "Gaps within families, by part of speech")},
    "reads": ["delta_loglik", "perplexity", "beside"],
    "settings": ["groups", "responses", "one_for_seeds", "title"],
    "published": "families",
}

TITLES = {WITHOUT: "no POS", WITH: "POS"}
NOTES = [
    "ΔLogLik of the family's best LM less that of its worst (nats, exploratory partition); beneath, which they are",
    "beside, Spearman's ρ of ΔLogLik and perplexity in the family; above 0 the better LM is the worse reader",
]


def main(
    *,
    delta_loglik: File,
    perplexity: File,
    out: Files,
    groups: Mapping[str, Iterable[str]],
    responses: Described,
    beside: Files = (),
    one_for_seeds: Mapping[str, str] | None = None,
    published: File | None = None,
    title: str = "Families",
) -> None:
    """Write the table to `out` (.csv tidy, .html, .tex)."""
    rows = computing.points(delta_loglik, perplexity, groups, responses, beside, one_for_seeds)
    found = computing.gaps(rows)
    known = None if published is None else pd.read_csv(published)
    tables.write(out, layout(found, known, title), found[GAPS])


def layout(found: pd.DataFrame, published: pd.DataFrame | None, title: str) -> Table:
    """Set out a row a family and response, then the published gaps."""
    designs = [name for name in (WITHOUT, WITH) if name in set(found.design)]
    several = len(designs) > 1
    header = ["", "", *(TITLES[name] if several else "gap" for name in designs)]
    header += [f"ρ, {TITLES[name]}" if several else "ρ" for name in designs]
    grid = []
    for (family, response), mine in found.groupby(["family", "response"], sort=False):
        each = mine.set_index("design")
        cells = [family, response]
        for name in designs:
            there = name in each.index
            which = f"{each.best[name]} over {each.worst[name]}" if there else ""
            cells.append(Cell(style.number(each.gap[name]) if there else "", (which,)))
        cells += [style.number(each.rho.get(name, math.nan), 2) for name in designs]
        grid.append(cells)
    rules = []
    if published is not None and len(designs) == 2:
        rules.append(len(grid))
        known = computing.published_gaps(published).set_index("design")
        for family, corpus in dict.fromkeys(zip(known.family, known.response, strict=True)):
            mine = known.gap[(known.family == family) & (known.response == corpus)]
            cells = [f"published: {family}", corpus]
            cells += [style.number(mine[name], 0) for name in (WITHOUT, WITH)]
            grid.append([*cells, "", ""])
    return Table(title, header, grid, [*NOTES, *told(found, published)], rules=tuple(rules), left=2)


def told(found: pd.DataFrame, published: pd.DataFrame | None) -> list[str]:
    """Say whether gaps are wider with part of speech."""
    t, p, n = computing.widened(found)
    if n == 0:
        return []
    beside = "" if published is None else _published(computing.published_gaps(published))
    if math.isnan(t):
        return [
            f"gaps with part of speech and without: {n} pairs are too few, or all alike{beside}"
        ]
    if p < 0.05:
        said = f"gaps are {'wider' if t > 0 else 'narrower'} with part of speech"
    else:
        said = "gaps with part of speech cannot be told from those without"
    return [f"{said}: paired t({n - 1}) = {style.number(t, 2)} (p {style.p_value(p)}){beside}"]


def _published(gaps: pd.DataFrame) -> str:
    """Say what the same test makes of published gaps; of too few nothing."""
    t, p, n = computing.widened(gaps)
    if math.isnan(t):
        return ""
    which = "wider" if t > 0 else "narrower"
    return f"; published t({n - 1}) = {style.number(t, 1)} (p {style.p_value(p)}), {which} with it"
