"""Names that a user typed, and the known one that is nearest to each."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def near(name: object, known: Iterable[object], cutoff: float = 0.5) -> str | None:
    """Return the known name that is nearest to `name`, whatever their case; None if none is near."""
    folded = {str(each).casefold(): str(each) for each in known}
    close = difflib.get_close_matches(str(name).casefold(), folded, n=1, cutoff=cutoff)
    return folded[close[0]] if close else None


def hint(name: object, known: Iterable[object]) -> str:
    """Return `did you mean …? ` if a known name is near, else nothing."""
    close = near(name, known)
    return "" if close is None else f"did you mean {close}? "


def nearest(name: object, known: Iterable[object]) -> str:
    """Return `name` quoted, with the nearest known one, or with all that are known."""
    known = [str(each) for each in known]
    close = near(name, known)
    if close is not None:
        return f"{name!r}; did you mean {close!r}?"
    return f"{name!r}; known: {', '.join(known) or 'none'}"
