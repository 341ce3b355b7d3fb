"""Check options with a fixed set of values."""

from collections.abc import Iterable

from recency.errors import InputError
from recency.names import hint


def one_of(option: str, value: str, choices: Iterable[str]) -> None:
    """Raise InputError, with the nearest known value, unless `value` is one of them."""
    choices = list(choices)
    if value not in choices:
        raise InputError(
            f"options → {option}: {value!r} is not possible here; {hint(value, choices)}"
            f"There are: {', '.join(choices)}"
        )
