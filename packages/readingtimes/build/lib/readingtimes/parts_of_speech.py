"""Parts of speech (noun, verb, other) from Penn or universal tags, and the tagged parts of words."""

import re
from collections.abc import Iterable

# Modals and auxiliaries count as verbs. Penn tags by their first two letters; NP and VPZ are errors in
# some trees.
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
    """Return noun, verb or other for the tags of a word's parts: the first noun or verb."""
    parts = (_UNIVERSAL.get(tag, _PENN.get(tag[:2])) for tag in tags)
    return next((part for part in parts if part), "other")


def parts(word: str) -> list[str]:
    """Split a word into its tagged parts: can't. into ca, n't and a full stop."""
    return _TAGGED.findall(word)
