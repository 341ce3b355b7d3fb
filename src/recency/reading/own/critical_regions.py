"""The critical region of a text: found by its words, by a marker, or by its position."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from recency.errors import InputError
from recency.reading.joins.index import spelling

CRITICAL = "critical"
"""The label of the region that a response is to."""
MARKERS = ("*", "**", "[]", "{}", "<>", "|", "||", "_", "__", "#", "^", "~")
"""Markers that `recency describe` looks for."""
LABEL = re.compile(r"critical|(?:spillover|precritical)_[1-9]\d*")


@dataclass(frozen=True)
class Region:
    """A region of a text: position of the first word (from 0), and number of words."""

    start: int
    size: int

    @property
    def end(self) -> int:
        """The position after the last word."""
        return self.start + self.size


def require_marker(marker: str) -> None:
    """Raise InputError unless a marker has an opening and a closing character.

    Parameters
    ----------
    marker : str
        Two different characters, such as `[]`, or one sign that opens and closes, such as `*`.
    """
    if not marker or re.search(r"[\w\s]", marker):
        raise InputError(
            f"options → marker: {marker!r} is no marker; write the signs around the critical region, "
            "as '*' for *mill* or '[]' for [mill]"
        )


def split_marked(text: str, marker: str) -> tuple[list[str], Region]:
    """Return the words of a text without its marker, and the marked region.

    Parameters
    ----------
    text : str
        The text, one region of which is marked.
    marker : str
        As `require_marker` wants it.

    Returns
    -------
    words : list of str
    region : Region

    Raises
    ------
    InputError
        If not exactly one region is marked, or the marked part begins or ends inside a word.

    Examples
    --------
    >>> split_marked("They sold *the mill*.", "*")
    (['They', 'sold', 'the', 'mill.'], Region(start=2, size=2))
    """
    paired = len(marker) == 2 and marker[0] != marker[1]
    left, right = marker if paired else (marker, marker)
    counts = (text.count(left), text.count(right)) if paired else (text.count(left) / 2,) * 2
    if counts != (1, 1):
        raise InputError(f"needs one region between {left!r} and {right!r}, as {left}mill{right}")
    begin = text.index(left)
    end = text.index(right, begin + len(left)) if right in text[begin + len(left) :] else -1
    if end < 0:
        raise InputError(f"has {right!r} before {left!r}")
    before, inside = text[:begin], text[begin + len(left) : end]
    if not inside.strip():
        raise InputError(f"has nothing between {left!r} and {right!r}")
    clean = before + inside + text[end + len(right) :]
    first = len(before) + len(inside) - len(inside.lstrip())
    last = len(before) + len(inside.rstrip())
    places = [(match.start(), match.end()) for match in re.finditer(r"\S+", clean)]
    touched = [n for n, (a, b) in enumerate(places) if a < last and b > first]
    outside = clean[places[touched[0]][0] : first] + clean[last : places[touched[-1]][1]]
    if re.search(r"\w", outside):
        word = clean[places[touched[0]][0] : places[touched[-1]][1]]
        raise InputError(f"marks a part of {word!r}; mark whole words")
    return clean.split(), Region(touched[0], len(touched))


def occurrences(words: Sequence[str], critical: Sequence[str]) -> list[int]:
    """Return where the critical words begin, from 0, without case, accents and punctuation.

    Parameters
    ----------
    words, critical : sequence of str
        The words of the text and of the region.
    """
    words, critical = list(words), list(critical)
    if all(map(spelling, critical)):
        words, critical = list(map(spelling, words)), list(map(spelling, critical))
    size = len(critical)
    return [n for n in range(len(words) - size + 1) if words[n : n + size] == critical]


def is_same(words: Sequence[str], other: Sequence[str]) -> bool:
    """Return whether two regions have the same words, without case, accents and punctuation."""
    one, two = [[spelling(w) or w for w in side] for side in (words, other)]
    return one == two


def find_words(words: Sequence[str], critical: Sequence[str]) -> Region:
    """Return the region of the critical words, which must occur exactly once.

    Parameters
    ----------
    words, critical : sequence of str
        The words of the text and of the region.

    Raises
    ------
    InputError
        If they do not occur, or occur more than once.
    """
    starts = occurrences(words, critical)
    if len(starts) == 1:
        return Region(starts[0], len(critical))
    text = " ".join(critical)
    if starts:
        places = ", ".join(str(start + 1) for start in starts)
        raise InputError(
            f"critical {text!r} occurs {len(starts)} times (words {places}); map `position`, or mark "
            "the region in the text (`marker`)"
        )
    inside = next(
        (word for word in words if spelling(text) and spelling(text) in spelling(word)), ""
    )
    part = f" by itself: it is a part of {inside!r}" if inside else ""
    raise InputError(
        f"critical {text!r} does not occur{part}; correct it, or map `position`, or mark the region "
        "in the text (`marker`)"
    )
