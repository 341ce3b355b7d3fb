"""Check options with a fixed set of values."""

from collections.abc import Iterable

from recency.errors import InputError
from recency.names import hint


def one_of(option: str, value: str, known: Iterable[str]) -> None:
    """Raise InputError, with the nearest known value, unless `value` is one of them."""
    known = list(known)
    if value not in known:
        raise InputError(
            f"options → {option}: {value!r} is not possible here; {hint(value, known)}"
            f"There are: {', '.join(known)}"
        )
