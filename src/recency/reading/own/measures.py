"""Recognise measures by their values: nested eye-movement durations, slow maze times."""

import itertools
from collections.abc import Sequence

import numpy as np
import pandas as pd

from recency.reading.own.profile import Column
from recency.reading.own.roles import Roles, is_time

_MAZE = 300
"""Milliseconds that nine of ten times in a maze exceed; few in self-paced reading do."""
_CHAIN = ("FFD", "FP", "GP")
_NESTED = 0.995
"""Share of rows in which a nested duration is not the longer one."""


def refine(roles: Roles, columns: Sequence[Column], frame: pd.DataFrame) -> list[str]:
    """Correct guessed measures by their values; return notes on the decisions.

    First fixation ≤ first pass ≤ go-past: columns of times without a known name are ordered so.
    Times of which nine of ten exceed 300 ms are of a maze.

    Parameters
    ----------
    roles : Roles
        Guesses by name; `measures` is changed in place.
    columns : sequence of Column
        The table's columns.
    frame : DataFrame
        The table, all values as text.
    """
    notes = _by_order(roles, columns, frame) if not roles.wide else []
    by_name = {column.name: column for column in columns}
    scale = 1000 if roles.seconds else 1
    spr = by_name.get(roles.measures.get("SPR", ""))
    if spr is not None and len(roles.measures) == 1 and spr.tenth * scale > _MAZE:
        notes.append(
            f"{spr.name}: nine of ten times exceed {_MAZE} ms, as in a maze; self-paced reading is "
            "faster. Write SPR for Maze if it is that"
        )
        roles.measures = {"Maze": spr.name}
    return notes + _contradictions(roles, frame)


def _by_order(roles: Roles, columns: Sequence[Column], frame: pd.DataFrame) -> list[str]:
    """Name unnamed columns of times by their order: which is never longer than which."""
    used = {*roles.of.values(), *roles.measures.values()}
    free = [c for c in columns if c.name not in used and is_time(c) and c.kind != "text"]
    weak = [c for c in columns if c.name == roles.measures.get("SPR")]
    if set(roles.measures) - {"SPR"} or not 2 <= len(free) + len(weak) <= len(_CHAIN):
        return []
    together = sorted([*weak, *free], key=lambda column: column.middle)
    values = [_numbers(frame[column.name]) for column in together]
    if not all(_nested(a, b) for a, b in itertools.pairwise(values)):
        return []
    names = _CHAIN if len(together) == len(_CHAIN) else _CHAIN[1:]
    roles.measures = dict(zip(names, (column.name for column in together), strict=True))
    ordered = " ≤ ".join(column.name for column in together)
    return [f"{ordered} in {_NESTED:.1%} of rows or more: taken as {' ≤ '.join(names)}; check it"]


def _contradictions(roles: Roles, frame: pd.DataFrame) -> list[str]:
    """Return a note for each pair of named measures whose order the values contradict."""
    notes = []
    for short, long in (("FFD", "FP"), ("FP", "GP"), ("FP", "TFT")):
        if short in roles.measures and long in roles.measures and not roles.wide:
            one, other = (_numbers(frame[roles.measures[measure]]) for measure in (short, long))
            both = (one > 0) & (other > 0)
            if both.any() and (share := float((one > other)[both].mean())) > 1 - _NESTED:
                notes.append(
                    f"{roles.measures[short]} ({short}) is longer than {roles.measures[long]} ({long}) "
                    f"in {share:.1%} of rows, which cannot be: check the two columns"
                )
    return notes


def _nested(short: np.ndarray, long: np.ndarray) -> bool:
    both = (short > 0) & (long > 0)
    differ = short[both] != long[both]
    return bool(both.sum() > 20 and (short <= long)[both].mean() >= _NESTED and differ.any())


def _numbers(text: pd.Series) -> np.ndarray:
    return pd.to_numeric(text, errors="coerce").fillna(0).to_numpy(dtype=float)
