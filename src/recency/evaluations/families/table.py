"""Gaps of ΔLogLik within families, with and without part of speech."""

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
    "reads": ["delta_loglik", "perplexity", "others"],
    "settings": ["groups", "responses", "one_for_seeds", "title"],
    "published": "families",
}

TITLES = {WITHOUT: "no POS", WITH: "POS"}
NOTES = [
    "ΔLogLik of the family's best LM minus that of its worst (nats, exploratory partition), with their names beneath",
    "Spearman's ρ is of ΔLogLik and perplexity in the family; above 0, better LMs predict reading times worse",
]


def main(
    *,
    delta_loglik: File,
    perplexity: File,
    out: Files,
    groups: Mapping[str, Iterable[str]],
    responses: Described,
    others: Files = (),
    one_for_seeds: Mapping[str, str] | None = None,
    published: File | None = None,
    title: str = "Families",
) -> None:
    """Write the table to `out` (.csv tidy, .html, .tex)."""
    rows = computing.points(delta_loglik, perplexity, groups, responses, others, one_for_seeds)
    gaps = computing.gaps(rows)
    published_rows = None if published is None else pd.read_csv(published)
    tables.write(out, layout(gaps, published_rows, title), gaps[GAPS])


def layout(gaps: pd.DataFrame, published: pd.DataFrame | None, title: str) -> Table:
    """Return a row per family and response, then the published gaps."""
    designs = [name for name in (WITHOUT, WITH) if name in set(gaps.design)]
    several = len(designs) > 1
    header = ["", "", *(TITLES[name] if several else "gap" for name in designs)]
    header += [f"ρ, {TITLES[name]}" if several else "ρ" for name in designs]
    grid = []
    for (family, response), mine in gaps.groupby(["family", "response"], sort=False):
        by_design = mine.set_index("design")
        cells = [family, response]
        for name in designs:
            there = name in by_design.index
            which = f"{by_design.best[name]} over {by_design.worst[name]}" if there else ""
            cells.append(Cell(style.number(by_design.gap[name]) if there else "", (which,)))
        cells += [style.number(by_design.rho.get(name, math.nan), 2) for name in designs]
        grid.append(cells)
    rules = []
    if published is not None and len(designs) == 2:
        rules.append(len(grid))
        paper = computing.published_gaps(published).set_index("design")
        for family, corpus in dict.fromkeys(zip(paper.family, paper.response, strict=True)):
            mine = paper.gap[(paper.family == family) & (paper.response == corpus)]
            cells = [f"published: {family}", corpus]
            cells += [style.number(mine[name], 0) for name in (WITHOUT, WITH)]
            grid.append([*cells, "", ""])
    return Table(title, header, grid, [*NOTES, *gap_notes(gaps, published)], tuple(rules), left=2)


def gap_notes(gaps: pd.DataFrame, published: pd.DataFrame | None) -> list[str]:
    """Return a note on whether gaps are wider with part of speech."""
    t, p, n = computing.widened(gaps)
    if n == 0:
        return []
    reported = "" if published is None else _published(computing.published_gaps(published))
    if math.isnan(t):
        return [
            f"gaps with part of speech and without: {n} pairs are too few, or all equal{reported}"
        ]
    if p < 0.05:
        claim = f"gaps are {'wider' if t > 0 else 'narrower'} with part of speech"
    else:
        claim = "gaps with part of speech do not differ reliably from those without"
    return [f"{claim}: paired t({n - 1}) = {style.number(t, 2)} (p {style.p_value(p)}){reported}"]


def _published(gaps: pd.DataFrame) -> str:
    """Return the same test on published gaps, or an empty string if there are too few."""
    t, p, n = computing.widened(gaps)
    if math.isnan(t):
        return ""
    which = "wider" if t > 0 else "narrower"
    return f"; published t({n - 1}) = {style.number(t, 1)} (p {style.p_value(p)}), {which} with it"
