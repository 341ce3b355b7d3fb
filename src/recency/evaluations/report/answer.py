"""What an experiment comes to, of its verdict.json: the sentences, and the LMs ranked in a table."""

import html
import math
from collections.abc import Mapping

from recency.evaluations.reading_times import table_significance
from recency.figures import bases, style
from recency.figures.intervals import nats
from recency.figures.tables import Cell, Table


def sentences(verdict: Mapping) -> str:
    """Return the verdict as HTML, its first sentence in bold."""
    first, *rest = verdict["sentences"]
    return f"<p class='verdict'><b>{html.escape(first)}</b> {html.escape(' '.join(rest))}</p>"


def ranking(verdict: Mapping) -> Table:
    """Rank the LMs: what can be told of each beside its name, then the numbers with intervals."""
    rows = verdict["ranking"]
    compared = [row["over_baseline"] for row in rows if row["over_baseline"]]
    baseline, tested = verdict["baseline"], any(over["p"] is not None for over in compared)
    grouped = len(rows) > 1
    heads = ["LM", *["Group"] * grouped, *["p", "Holm"] * tested]
    heads += [f"− {baseline}", "95 %"] * bool(compared)
    header = [Cell(head, left=head in ("LM", "Group")) for head in (*heads, "ΔLogLik", "95 %")]
    grid = []
    for row in rows:
        over = row["over_baseline"]
        cells = [Cell(row["label"], left=True), *[Cell(row["group"], left=True)] * grouped]
        if over is None:
            cells += [Cell()] * (2 * tested + 2 * bool(compared))
        else:
            cells += [Cell(_p(over[key])) for key in ("p", "p_holm")] * tested
            other = over["against_label"]
            below = () if other == baseline else (f"against {other}",)
            cells.append(Cell(style.signed(over["value"]), below, bold=bool(over["apart"])))
            cells.append(Cell(_ends(over)))
        own = row["delta_loglik"]
        cells += [Cell(style.number(own["value"])), Cell(_ends(own))] if own else [Cell(), Cell()]
        grid.append(cells)
    over = bases.over(verdict["base"])
    notes = [f"ΔLogLik in nats{over}, on the exploratory partition: the higher, the better"]
    if compared:
        notes[0] += (
            f"; − {baseline}: the difference from it, in bold where the two are told apart; 95 %: "
            "bootstrap intervals, by subject or by sentence, whichever is wider"
        )
    if tested:
        notes.append(
            f"held-out p: permutation test against {baseline} on the held-out partition, all responses "
            "together, the larger of p by subject and p by sentence; Holm: corrected among the LMs"
        )
    if verdict["told_apart"]:
        notes.append(f"group: {verdict['told_apart']}")
    return Table("", [header], grid, notes + list(verdict["missing"]))


def _p(p: float | None) -> str:
    return table_significance.write_p(math.nan if p is None else p)


def _ends(found: Mapping) -> str:
    """Write an interval whose ends may be missing."""
    if found["low"] is None:
        return "\N{EN DASH}"
    return f"{nats(found['low'])} to {nats(found['high'])}"
