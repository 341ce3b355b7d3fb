"""The verdict of an experiment as HTML: its sentences, and the table that ranks the LMs."""

import html
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from recency.figures import style
from recency.figures.intervals import clusters, nats
from recency.figures.tables import Cell, Table

RESPONSES = 4
"""Number of responses whose effects are on the first screen."""


def sentences(verdict: Mapping) -> str:
    """Return the verdict as HTML: its short sentences, the first in bold, and the folded full statement."""
    first, *rest = verdict["brief"]
    return (
        f"<p class='verdict'><b>{html.escape(first)}</b> {html.escape(' '.join(rest))}</p>"
        f"<details><summary>The full statement</summary><p>{html.escape(verdict['verdict'])}</p></details>"
    )


def effects(verdict: Mapping, path: Path) -> str:
    """Return the effect of the best LM's surprisal on the first responses, in the readers' unit.

    Parameters
    ----------
    verdict : mapping
        The content of verdict.json.
    path : path
        table_effects.csv.
    """
    if not verdict["ranking"] or not path.exists():
        return ""
    best = verdict["ranking"][0]
    table = pd.read_csv(path)
    rows = table[(table.lm == best["lm"]) & (table.term == "surprisal") & table.estimate.notna()]
    if rows.empty:
        return ""
    texts = [
        f"{row.response} {style.signed(row.estimate, 2)} {row.unit} ({style.number(row.low, 2)} to {style.number(row.high, 2)})"
        for row in rows.head(RESPONSES).itertuples()
    ]
    more = f"; {len(rows) - RESPONSES} more in table_effects" if len(rows) > RESPONSES else ""
    return (
        f"<p class='note'>Effect of {html.escape(best['label'])}'s surprisal (95 %): "
        f"{html.escape('; '.join(texts) + more)}</p>"
    )


def notes(verdict: Mapping) -> list[str]:
    """Return notes on the columns of a ranking: differences, held-out tests, claims and groups.

    Parameters
    ----------
    verdict : mapping
        The content of verdict.json.
    """
    rows = verdict["ranking"]
    pairs = [row["over_baseline"] for row in rows if row["over_baseline"]]
    baseline = verdict["baseline"] or "the baseline"
    texts = [f"ΔLogLik in nats{verdict['described']}: the higher, the better"]
    if pairs:
        by = dict.fromkeys(clusters(pair["by"]) for pair in pairs if pair["by"])
        simultaneous = (
            f", simultaneous for all {len(verdict['pairs'])} pairs" if len(rows) > 2 else ""
        )
        interval = f" (95 % interval by {' or by '.join(by)}{simultaneous})" if by else ""
        texts[0] += (
            f"; \N{MINUS SIGN} {baseline}: the difference from it{interval}, bold where the two "
            "LMs are separated"
        )
    if any(pair["p"] is not None for pair in pairs):
        texts.append(
            f"held-out p: t test against {baseline} of squared errors on the held-out partition, all "
            "responses together, with the standard error by subjects and sentences at once; Holm: corrected "
            "among the LMs"
        )
    if verdict["rule"]:
        claim = f"claim (A: the LM, B: {baseline}) and group" if pairs else "group"
        texts.append(f"{claim}: {verdict['rule']}")
    return texts


def ranking(verdict: Mapping) -> Table:
    """Return the ranked LMs: group, claim and held-out test, then values and intervals.

    Parameters
    ----------
    verdict : mapping
        The content of verdict.json.
    """
    rows = verdict["ranking"]
    compared = [row["over_baseline"] for row in rows if row["over_baseline"]]
    baseline = verdict["baseline"] or "the baseline"
    tested = any(pair["p"] is not None for pair in compared)
    grouped = len(rows) > 1
    heads = ["LM", *["Group"] * grouped, *["Claim"] * bool(compared), *["p", "Holm"] * tested]
    heads += [f"\N{MINUS SIGN} {baseline}", "95 %"] * bool(compared)
    texts = ("LM", "Group", "Claim")
    header = [*heads, "ΔLogLik", "95 %"]
    grid = []
    for row in rows:
        pair = row["over_baseline"]
        cells = [row["label"], *[row["group"]] * grouped]
        if pair is None:
            cells += [""] * (2 * tested + 3 * bool(compared))
        else:
            cells.append(pair["claim"])
            cells += [style.p_value(pair[key]) for key in ("p", "p_holm")] * tested
            other = pair["against_label"]
            below = () if other == baseline else (f"against {other}",)
            cells.append(Cell(style.signed(pair["value"]), below, bold=bool(pair["separated"])))
            cells.append(_ends(pair))
        interval = row["delta_loglik"]
        cells += [style.number(interval["value"]), _ends(interval)] if interval else ["", ""]
        grid.append(cells)
    return Table("", header, grid, notes(verdict) + list(verdict["missing"]), left=texts)


def _ends(interval: Mapping) -> str:
    """Format the interval that decides, whose ends may be missing."""
    low, high = (interval[f"{end}_all"] for end in ("low", "high"))
    if low is None:
        low, high = interval["low"], interval["high"]
    return "\N{EN DASH}" if low is None else f"{nats(low)} to {nats(high)}"
