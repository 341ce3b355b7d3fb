"""Names of the baseline models of ΔLogLik, stated in every figure."""

from collections.abc import Iterable

NAMED = {
    "fixed": "a baseline model that keeps surprisal's by-subject slopes (base: fixed)",
    "all": "a baseline model without predictors that differ between LMs (base: all)",
    "several": "baseline models of several kinds (base: fixed for some responses, all for others)",
}
"""Name of a baseline model after "relative to"."""
SHORT = {"fixed": "base: fixed", "all": "base: all", "several": "bases: fixed and all"}


def of(bases: Iterable[str]) -> str:
    """Return the shared base of several responses, "several", or "" if unknown."""
    distinct = set(bases)
    return "several" if len(distinct) > 1 else next(iter(distinct), "")


def relative_to(base: str) -> str:
    """Return " relative to …" for a ΔLogLik, or "" if the baseline model is unknown."""
    return f" relative to {NAMED[base]}" if base in NAMED else ""
