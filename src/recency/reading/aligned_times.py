"""Refuse reading times that belong to another word than the one they are given for.

Surprisal of one word cannot explain the time of another: a regression on such times runs, and its
result means nothing. The correlations are those of `recency.reading.checks`.
"""

from collections.abc import Collection

import pandas as pd

from recency import overrides
from recency.reading import checks
from recency.reading.contracts import are_to_regions

_SHOWN = range(-2, 3)
_MOVES = (1, -1, 2, -2)


def require_aligned(
    words: pd.DataFrame,
    responses: pd.DataFrame,
    name: str,
    accept: Collection[str] = (),
    offset: int | None = None,
) -> None:
    """Raise an InputError if mean times follow the length of a neighbouring word.

    Amplitudes, scores, times of marked regions and of too few words pass. Shifted times that the
    config accepts are a warning on stderr.

    Parameters
    ----------
    words, responses : DataFrame
        Contracts 1 and 2, before the filters.
    name : str
        What messages call the responses: <dataset>.<measure>.
    accept : collection of str
        The dataset's `accept`; with "shifted" in it, shifted times pass.
    offset : int, optional
        Words by which the parser moved the times; None if it has no such option.
    """
    if "time_ms" not in responses or are_to_regions(words, responses):
        return
    table = checks.alignment(words, checks.means(words, responses, "time_ms"))
    skips = checks.are_skipped(responses.time_ms)
    warnings = [f for f in checks.shifted(table, skips) if f.level == "warning"]
    if not warnings:
        return
    r = table.set_index("offset").r
    shown = ", ".join(f"{k:+d}: {r[k]:.2f}" if k else f"0: {r[k]:.2f}" for k in _SHOWN)
    text = (
        f"{warnings[0].text}. Correlation of mean times with the length of the word k places on "
        f"({table.n[0]:,} words), k: r = {shown}"
    )
    where = f"datasets → {name.partition('.')[0]}"
    way_out = _remedy(where, _correction(table, skips), offset)
    overrides.refuse("shifted", name, text, way_out, where, accept)


def _correction(table: pd.DataFrame, skips: bool) -> int | None:
    """Return how many words times must move to follow their own word; None if unknown."""
    r = table.set_index("offset").r
    for move in _MOVES:
        moved = table.assign(r=r.reindex(r.index + move).to_numpy())
        judged = checks.shifted(moved, skips)
        if r[move] >= r.max() / 2 and not any(f.level == "warning" for f in judged):
            return move
    return None


def _remedy(where: str, move: int | None, offset: int | None) -> str:
    """Say how to move the times: by the parser's `offset`, or in the file."""
    if move is not None and offset is not None:
        return (
            f"Set `options: {{offset: {offset + move}}}` under {where}, with which times follow "
            "their own word"
        )
    if move is not None:
        count = "one word" if abs(move) == 1 else f"{abs(move)} words"
        later = "later" if move > 0 else "earlier"
        return f"Give each time of {where} to {count} {later} in its file"
    return f"Check which words the times of {where} belong to"
