"""Normalise or split words for n-gram models, in the same way in training text and datasets."""

import re
import unicodedata

from recency import scripts
from recency.errors import InputError

#: Words as displayed; in lower case; in lower case without surrounding punctuation; as displayed,
#: with punctuation as separate words.
RULES = ("displayed", "lower", "bare", "split")
_SPLIT = re.compile(rf"{scripts.WORD}+(?:['’.,-]{scripts.WORD}+)*|[^\w\s]")


def split_word(word: str, rule: str = "displayed") -> list[str]:
    """Apply a rule to a displayed word; `split` may return several words.

    A word of only punctuation is unchanged. Raises InputError for an unknown rule.
    """
    if rule == "displayed":
        return [word]
    if rule == "lower":
        return [word.lower()]
    if rule == "split":
        return _SPLIT.findall(word) or [word]
    if rule != "bare":
        raise InputError(f"text_rule {rule!r} is none of {', '.join(RULES)}")
    short = word.replace("’", "'")
    kept = [n for n, char in enumerate(short) if unicodedata.category(char)[0] not in "PSZ"]
    return [(short[kept[0] : kept[-1] + 1] if kept else short).lower()]


def rewrite(text: str, rule: str) -> str:
    """Apply a rule to the words of a text and keep its lines."""
    if rule == "displayed":
        return text
    lines = text.split("\n")
    return "\n".join(
        " ".join(p for w in line.split() for p in split_word(w, rule)) for line in lines
    )
