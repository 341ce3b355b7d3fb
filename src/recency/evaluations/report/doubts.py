"""Findings of the linter (recency.workflow.lint) in summary and report: of settings, and of fits.

`doubts` is a mapping of `warnings` and `accepted`, lines on the config's settings, and `noted`, the rules
whose findings fits note as well: rule, table, `noted` (parts of such notes), `accepted` (entries of the
table that accept it).
"""

import html
import re
from collections.abc import Iterable, Mapping

import pandas as pd

from recency.figures.paths import File

COLUMNS = ["lm", "dataset", "measure", "design", "note"]
#: Table of a lint rule → column that names its entry.
ENTRIES = {"designs": "design", "datasets": "dataset"}
PAGE = "docs/lint.md"
_MODEL = re.compile(r"^(?:seed \d+: )?(?:full|base|linear): ")


def lines(doubts: Mapping, delta_loglik: Iterable[File] = ()) -> tuple[list[str], list[str]]:
    """Return the warnings and the accepted findings of a run, by line.

    Parameters
    ----------
    doubts : mapping
        The findings on the config, and the rules whose findings fits note.
    delta_loglik : iterable of path
        The experiments' delta_loglik.csv, with the notes of their fits.
    """
    warnings, accepted = list(doubts.get("warnings", ())), list(doubts.get("accepted", ()))
    grouped: dict[tuple[str, str, str, bool], dict[str, None]] = {}
    for path in delta_loglik if doubts.get("noted") else ():
        for row in pd.read_csv(path, usecols=COLUMNS, dtype=str).fillna("").to_dict("records"):
            response = f"{row['dataset']}.{row['measure']}, design {row['design']}"
            for part in dict.fromkeys(_MODEL.sub("", text) for text in row["note"].split("; ")):
                for about in (
                    a for a in doubts["noted"] if any(text in part for text in a["noted"])
                ):
                    entry = row[ENTRIES[about["table"]]].partition("@")[0]
                    key = (response, part, about["rule"], entry in about["accepted"])
                    grouped.setdefault(key, {})[row["lm"]] = None
    for (response, note, rule, is_accepted), lms in grouped.items():
        text = f"{response} ({len(lms)} LM{'s' * (len(lms) > 1)}): {note}"
        into = accepted if is_accepted else warnings
        into.append(f"{text} [{rule}]")
    return warnings, accepted


def headings(warnings: list[str], accepted: list[str]) -> list[tuple[str, list[str]]]:
    """Return the lines under their headings, without empty ones."""
    parts = [(f"Doubtful ({PAGE}):", warnings), ("Doubtful, accepted by the config:", accepted)]
    return [(heading, listed) for heading, listed in parts if listed]


def section(warnings: list[str], accepted: list[str]) -> str:
    """Return the lines as HTML, folded under their number; "" without any."""
    parts = headings(warnings, accepted)
    if not parts:
        return ""
    counts = [f"{len(warnings)} doubtful setting{'s' * (len(warnings) != 1)}"] if warnings else []
    counts += [f"{len(accepted)} accepted"] if accepted else []
    body = "".join(
        f"<p>{heading}</p><ul>{''.join(f'<li>{html.escape(line)}</li>' for line in listed)}</ul>"
        for heading, listed in parts
    )
    kind = "note warning" if warnings else "note"
    return f"<details class='{kind}'><summary>{', '.join(counts)}</summary>{body}</details>"
