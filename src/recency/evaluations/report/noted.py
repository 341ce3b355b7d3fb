"""Doubtful data that a study's fits noted: dropped predictors, too few subjects."""

import re
from collections.abc import Iterable, Mapping

import pandas as pd

from recency.figures.paths import File

COLUMNS = ["lm", "dataset", "measure", "design", "note"]
#: Table of a lint rule → column that names its entry.
ENTRIES = {"designs": "design", "datasets": "dataset"}
_MODEL = re.compile(r"^(?:seed \d+: )?(?:full|base|linear): ")


def lines(delta_loglik: Iterable[File], noted: Iterable[Mapping]) -> list[str]:
    """Return a line for each response and note of its fits, with the number of its LMs.

    Parameters
    ----------
    delta_loglik : iterable of path
        The experiments' delta_loglik.csv.
    noted : iterable of mapping
        Lint rules whose findings fits note: rule, table, `noted` (part of such a note), `accepted`
        (entries of the table that accept it).
    """
    rules = list(noted)
    grouped: dict[tuple[str, ...], dict[str, None]] = {}
    for path in delta_loglik if rules else ():
        for row in pd.read_csv(path, usecols=COLUMNS, dtype=str).fillna("").to_dict("records"):
            response = f"{row['dataset']}.{row['measure']}, design {row['design']}"
            for part in dict.fromkeys(_MODEL.sub("", text) for text in row["note"].split("; ")):
                for about in (about for about in rules if about["noted"] in part):
                    is_accepted = (
                        row[ENTRIES[about["table"]]].partition("@")[0] in about["accepted"]
                    )
                    key = (response, part, about["rule"], "accepted" if is_accepted else "")
                    grouped.setdefault(key, {})[row["lm"]] = None
    return [_line(*key, len(lms)) for key, lms in grouped.items()]


def _line(response: str, note: str, rule: str, accepted: str, lms: int) -> str:
    where = f"{response} ({lms} LM{'s' * (lms != 1)}): {note}"
    return f"Accepted ({rule}): {where}." if accepted else f"{where} [{rule}, docs/lint.md]"
