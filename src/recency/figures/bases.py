"""What the base of ΔLogLik lacks, in words: no figure or table leaves it unsaid."""

from __future__ import annotations

from collections.abc import Iterable

NAMED = {
    "fixed": "the paper's base, in which surprisal's by-subject slopes stay (base: fixed)",
    "all": "the base that all LMs share, without any surprisal (base: all)",
    "several": "bases of several kinds (base: fixed of some responses, all of others)",
}
"""What a base is called after "over"."""
TITLES = {"fixed": "base: fixed (the paper's)", "all": "base: all (shared by all LMs)"}
TITLES |= {"several": "bases: fixed and all"}
SHORT = {"fixed": "base: fixed", "all": "base: all", "several": "bases: fixed and all"}


def of(bases: Iterable[str]) -> str:
    """Return the one base of several responses, or "several"; "" where none is known."""
    found = set(bases)
    return "several" if len(found) > 1 else next(iter(found), "")


def over(base: str) -> str:
    """Write " over …" for behind a ΔLogLik; nothing where the base is not known."""
    return f" over {NAMED[base]}" if base in NAMED else ""
