"""The error of invalid input, and the nearest of misspelled names."""

import difflib
from collections.abc import Iterable

_LONGEST = 150  # maximum characters of a list of names


class InputError(ValueError):
    """Invalid input; the message names the formula, column or value, and the way out."""


def nearest(name: object, candidates: Iterable[object]) -> str:
    """Return `name` quoted, with the nearest known name or a list of the first known names."""
    known = [str(entry) for entry in candidates]
    folded = {entry.casefold(): entry for entry in known}
    close = difflib.get_close_matches(str(name).casefold(), folded, n=1, cutoff=0.5)
    quoted = repr(name) if len(str(name)) <= 80 else f"{str(name)[:80]!r}…"
    if close:
        return f"{quoted}; did you mean {folded[close[0]]!r}?"
    shown = list(known)
    while len(", ".join(shown)) > _LONGEST:
        shown.pop()
    more = f" and {len(known) - len(shown)} more" if len(shown) < len(known) else ""
    return f"{quoted}; known: {', '.join(shown) or 'none'}{more}"
