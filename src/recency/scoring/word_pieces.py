"""What of a word an n-gram model is asked for: the same rule for its text and for a dataset's words."""

import re
import unicodedata

from recency import scripts
from recency.errors import InputError

#: The words as displayed; in lower case; also without the punctuation around them; as displayed,
#: with punctuation as words of its own.
RULES = ("displayed", "lower", "bare", "split")
_SPLIT = re.compile(rf"{scripts.WORD}+(?:['’.,-]{scripts.WORD}+)*|[^\w\s]")


def pieces(word: str, rule: str = "displayed") -> list[str]:
    """Return the words that a displayed word is to an n-gram model: one, of `split` perhaps several.

    A word of nothing but punctuation stays as it is. Raises InputError for an unknown rule.
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
    kept = [n for n, each in enumerate(short) if unicodedata.category(each)[0] not in "PSZ"]
    return [(short[kept[0] : kept[-1] + 1] if kept else short).lower()]


def rewritten(text: str, rule: str) -> str:
    """Return a text by the rule, its lines as they are."""
    if rule == "displayed":
        return text
    lines = text.split("\n")
    return "\n".join(" ".join(p for w in line.split() for p in pieces(w, rule)) for line in lines)
