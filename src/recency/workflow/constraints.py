"""Constraints of wildcards: patterns that admit some names and no other.

Snakemake reads, compiles and tries a constraint for every path that it plans, so that a list of two
thousand language models in it costs more than all else of a plan. Here names share what they begin
with, and beginnings what they end with: `Pythia-seed-[1-9]` and not nine names.
"""

import os
import re
from collections.abc import Iterable
from functools import cache


def any_of(names: Iterable[str]) -> str:
    """Return a constraint that admits these names only; of no names, the name `none`."""
    return _admitting(tuple(sorted(set(names)))) or "none"


@cache
def _admitting(tails: tuple[str, ...]) -> str:
    """Return a pattern of these texts, which are sorted; "" of none but the empty one."""
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
    """Return a pattern of one of these signs."""
    escaped = "".join(map(re.escape, signs))
    return escaped if len(signs) == 1 else f"[{escaped}]"
