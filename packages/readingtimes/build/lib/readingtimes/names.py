"""Suggestions for misspelled names."""

import difflib
from collections.abc import Iterable

_LONGEST = 150  # maximum characters of a list of names


def near(name: object, candidates: Iterable[object], cutoff: float = 0.5) -> str | None:
    """Return the known name nearest to `name`, ignoring case; None if none is near."""
    folded = {str(candidate).casefold(): str(candidate) for candidate in candidates}
    close = difflib.get_close_matches(str(name).casefold(), folded, n=1, cutoff=cutoff)
    return folded[close[0]] if close else None


def hint(name: object, candidates: Iterable[object]) -> str:
    """Return `did you mean …? ` if a known name is near, else ""."""
    close = near(name, candidates)
    return "" if close is None else f"did you mean {close}? "


def nearest(name: object, candidates: Iterable[object]) -> str:
    """Return `name` quoted, with the nearest known name or a list of the first known names."""
    candidates = [str(entry) for entry in candidates]
    close = near(name, candidates)
    quoted = repr(name) if len(str(name)) <= 80 else f"{str(name)[:80]!r}…"
    if close is not None:
        return f"{quoted}; did you mean {close!r}?"
    shown = list(candidates)
    while len(", ".join(shown)) > _LONGEST:
        shown.pop()
    more = f" and {len(candidates) - len(shown)} more" if len(shown) < len(candidates) else ""
    return f"{quoted}; known: {', '.join(shown) or 'none'}{more}"
