"""Refuse reading times that are shifted relative to their words.

A regression of one word's times on another word's surprisal runs, but its result is meaningless. The
correlations are those of `recency.reading.checks`.
"""

from collections.abc import Collection

import pandas as pd

from recency import overrides
from recency.reading import checks
from recency.reading.contracts import are_to_regions

_MOVES = (1, -1, 2, -2)


def require_aligned(
    words: pd.DataFrame,
    responses: pd.DataFrame,
    name: str,
    accept: Collection[str] = (),
    offset: int | None = None,
) -> None:
    """Raise InputError if mean times correlate with the length of a neighbouring word.

    Amplitudes, scores, times of marked regions and of too few words are not tested. Shifted times
    that the config permits are a warning on stderr.

    Parameters
    ----------
    words, responses : DataFrame
        Contracts 1 and 2, before the filters.
    name : str
        Name of the responses in messages: <dataset>.<measure>.
    accept : collection of str
        The dataset's `accept`; "shifted" permits shifted times.
    offset : int, optional
        The parser's shift of the times in words; None if it has no such option.
    """
    if "time_ms" not in responses or are_to_regions(words, responses):
        return
    table = checks.alignment(words, checks.means(words, responses, "time_ms"))
    skips = checks.are_skipped(responses.time_ms)
    warnings = [f for f in checks.shifted(table, skips) if f.level == "warning"]
    if not warnings:
        return
    r = table.set_index("offset").r
    shown = ", ".join(f"{k:+d}: {r[k]:.2f}" if k else f"0: {r[k]:.2f}" for k in checks.OFFSETS)
    text = (
        f"{warnings[0].text}. Correlation of mean times with the length of the word k places on "
        f"({table.n[0]:,} words), k: r = {shown}"
    )
    where = f"datasets → {name.partition('.')[0]}"
    way_out = _remedy(where, _correction(table, skips), offset)
    overrides.refuse("shifted", name, text, way_out, where, accept)


def _correction(table: pd.DataFrame, skips: bool) -> int | None:
    """Return the shift in words that aligns times with their own word, None if unknown."""
    r = table.set_index("offset").r
    for move in _MOVES:
        moved = table.assign(r=r.reindex(r.index + move).to_numpy())
        judged = checks.shifted(moved, skips)
        if r[move] >= r.max() / 2 and not any(f.level == "warning" for f in judged):
            return move
    return None


def _remedy(where: str, move: int | None, offset: int | None) -> str:
    """Return how to shift the times: by the parser's `offset`, or in the file."""
    if move is not None and offset is not None:
        return (
            f"Set `options: {{offset: {offset + move}}}` under {where}, with which times follow "
            "their own word"
        )
    if move is not None:
        count = "one word" if abs(move) == 1 else f"{abs(move)} words"
        later = "later" if move > 0 else "earlier"
        return f"Move each time of {where} {count} {later} in its file"
    return f"Check which words the times of {where} belong to"
