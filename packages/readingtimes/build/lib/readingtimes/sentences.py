"""Sentence boundaries, for corpora without sentence numbers."""

import re
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import numpy as np

from readingtimes.errors import InputError
from readingtimes.strict_tables import content

# A full stop, question or exclamation mark of any script, then any closing quotes and brackets.
FINAL = re.compile(r"[.?!…。！？｡؟۔।॥։]['\"’”)\]»“」』）》】]*$")
# Words with a full stop that do not end a sentence: titles and initials.
_ABBREVIATION = re.compile(r"^['\"‘“(\[]*(?:Mr|Mrs|Ms|Dr|Prof|Rev|Gen|St|[A-Z])\.$")
# A question or exclamation inside quotes, which a reporting clause can follow.
_QUOTED = re.compile(r"[?!]['\"’”]$")
_REPORTING = re.compile(
    r"(?:add|announc|answer|ask|begg|call|exclaim|explain|inquir|laugh|murmur|mutter|repeat|scream"
    r"|shout|sigh|sobb|whisper|wonder|yell)ed|cried|demanded|replied|said"
)


def ends(words: Sequence[str]) -> list[bool]:
    """Return whether each word of a text ends a sentence; the last word always does.

    A sentence ends at `.`, `?`, `!` with the quotes and brackets that close after it, but not at
    a title or initial (`Mr.`, `B.`), before a word in lower case ('Why not?' she asked), nor
    at a quoted question or exclamation before a reporting clause ('Why not?' Abby asked).
    """
    followers = [*words[1:], ""], [*words[2:], "", ""]
    is_end = [_ends(word, *two) for word, *two in zip(words, *followers, strict=False)]
    if is_end:
        is_end[-1] = True
    return is_end


def _ends(word: str, second: str, third: str) -> bool:
    """Return whether `word` ends a sentence, given the next two words (empty at the end of the text)."""
    if not FINAL.search(word) or _ABBREVIATION.match(word) or second[:1].islower():
        return False
    return not (_QUOTED.search(word) and _REPORTING.fullmatch(third.strip(".,;:")))


def sentence_numbers(
    words: Sequence[str], texts: Sequence, given: Path | None = None
) -> np.ndarray:
    """Return each word's sentence number, from 1 across all texts.

    `texts` has each word's text; runs of the same value are one text. Sentences are found by `ends`,
    or read from the file `given`, one per line. Raises InputError if it does not match the words.
    """
    if given is None:
        runs = groupby(zip(texts, words, strict=True), key=lambda pair: pair[0])
        last = [end for _, run in runs for end in ends([word for _, word in run])]
    else:
        lines = content(Path(given)).decode("utf-8-sig").splitlines()
        try:
            last = aligned(words, [line for line in lines if line.strip()])
        except ValueError as error:
            raise InputError(f"{given} does not match the words: {error}") from error
    return np.cumsum([True, *last[:-1]][: len(last)])


def aligned(words: Sequence[str], sentences: Sequence[str]) -> list[bool]:
    """Return whether each word ends a given sentence, comparing characters without spaces.

    Raises ValueError at the first difference, or if a sentence ends within a word.
    """
    limits, at = set(), 0
    for sentence in sentences:
        at += len("".join(sentence.split()))
        limits.add(at)
    plain = "".join("".join(sentence.split()) for sentence in sentences)
    positions, at = [], 0
    for number, word in enumerate(words):
        if plain[at : at + len(word)] != word:
            there = plain[at : at + len(word) + 20]
            raise ValueError(f"word {number + 1} is {word!r}, the sentences go on with {there!r}")
        inside = [limit for limit in range(at + 1, at + len(word)) if limit in limits]
        if inside:
            raise ValueError(f"a sentence ends inside word {number + 1}, {word!r}")
        at += len(word)
        positions.append(at in limits)
    if at != len(plain):
        raise ValueError(f"after the last word the sentences go on with {plain[at : at + 30]!r}")
    return positions
