"""Tags of the Penn Treebank: which are nouns, which verbs, and what of a written word has one."""

from __future__ import annotations

import re
from collections.abc import Iterable

_POS = {"NN": "noun", "NP": "noun", "VB": "verb", "VP": "verb"}  # NP, VPZ: slips of some trees
_TAGGED = re.compile(
    r"""
    can(?=not\b) | (?<=can)not\b              # two words, written as one
  | \w[\w-]*?(?=n't\b) | n't\b | '\w+         # clitics
  | \w(?:[\w-] | ,(?=\d))*                    # words and numbers
  | [^\w\s]                                   # each mark by itself
    """,
    re.VERBOSE,
)


def part_of_speech(tags: Iterable[str]) -> str:
    """Return noun, verb or other: of several tags of a word, its first noun or verb's."""
    found = (_POS.get(tag[:2]) for tag in tags)
    return next((each for each in found if each), "other")


def parts(word: str) -> list[str]:
    """Split a word as it is written into what has a tag of its own: can't. is ca, n't and a stop."""
    return _TAGGED.findall(word)
