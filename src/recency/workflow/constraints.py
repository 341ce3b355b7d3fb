"""Wildcard constraints: patterns that match a given set of names.

Snakemake compiles and matches a constraint for every path, so that an alternation of two thousand
names dominates the time of a plan. Here names share prefixes and suffixes: `Pythia-seed-[1-9]`.
"""

import os
import re
from collections.abc import Iterable
from functools import cache


def any_of(names: Iterable[str]) -> str:
    """Return a constraint that matches these names only; `none` if there are no names."""
    return _admitting(tuple(sorted(set(names)))) or "none"


@cache
def _admitting(tails: tuple[str, ...]) -> str:
    """Return a pattern for sorted texts; "" if only the empty text is left."""
    if start := os.path.commonprefix(tails):
        return re.escape(start) + _admitting(tuple(tail[len(start) :] for tail in tails))
    behind: dict[str, list[str]] = {}
    for tail in filter(None, tails):
        behind.setdefault(tail[0], []).append(tail[1:])
    alike: dict[tuple[str, ...], list[str]] = {}
    for sign, rest in behind.items():
        alike.setdefault(tuple(rest), []).append(sign)
    parts = [_sign(signs) + _admitting(rest) for rest, signs in alike.items()]
    return f"(?:{'|'.join(parts)})" + "?" * ("" in tails) if parts else ""


def _sign(signs: list[str]) -> str:
    """Return a pattern for one of these characters."""
    escaped = "".join(map(re.escape, signs))
    return escaped if len(signs) == 1 else f"[{escaped}]"
