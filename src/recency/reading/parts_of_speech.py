"""Parts of speech (noun, verb, other) by Penn's or the universal tags, and what of a word has a tag."""

import re
from collections.abc import Iterable

# Modals and auxiliaries are verbs, as where they are tagged so alone. Penn's tags by their first two
# letters; NP and VPZ are slips of some trees.
_UNIVERSAL = {"NOUN": "noun", "PROPN": "noun", "VERB": "verb", "AUX": "verb"}
_PENN = {"NN": "noun", "NP": "noun", "VB": "verb", "VP": "verb", "MD": "verb"}
_TAGGED = re.compile(
    r"""
    can(?=not\b) | (?<=can)not\b              # two words, written as one
  | \w[\w-]*?(?=n't\b) | n't\b | '\w+         # clitics
  | \w(?:[\w-] | ,(?=\d))*                    # words and numbers
  | [^\w\s]                                   # each mark by itself
    """,
    re.VERBOSE,
)


def of(tags: Iterable[str]) -> str:
    """Return noun, verb or other: of several tags of a word, its first noun or verb's."""
    parts = (_UNIVERSAL.get(tag, _PENN.get(tag[:2])) for tag in tags)
    return next((part for part in parts if part), "other")


def parts(word: str) -> list[str]:
    """Split a word as it is written into what has a tag of its own: can't. is ca, n't and a stop."""
    return _TAGGED.findall(word)
