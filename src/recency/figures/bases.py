"""The endpoint of ΔLogLik in words: its baseline model and its likelihood, which figures always name."""

from collections.abc import Iterable

NAMED = {
    "fixed": "a baseline model that keeps surprisal's by-subject slopes (base: fixed)",
    "all": "a baseline model without any surprisal, the same for all LMs (base: all)",
    "several": "baseline models of several kinds (base: fixed for some responses, all for others)",
}
"""What a baseline model is called after "relative to"."""
SHORT = {"fixed": "base: fixed", "all": "base: all", "several": "bases: fixed and all"}


def of(bases: Iterable[str]) -> str:
    """Return the one base of several responses, or "several"; "" where none is known."""
    distinct = set(bases)
    return "several" if len(distinct) > 1 else next(iter(distinct), "")


def relative_to(base: str) -> str:
    """Write " relative to …", after a ΔLogLik; nothing where the baseline model is not known."""
    return f" relative to {NAMED[base]}" if base in NAMED else ""
