"""Align rows of a table (words, or tokens of any kind) with the words of a text by characters.

Tokens are taken as vocabularies and APIs write them: byte-level BPE (`Ġ`), SentencePiece (`▁`,
`<0xE2>`), WordPiece (`##`), or the text itself with its white space (with `bytes:` and the bytes in
hexadecimal for a part of a character, and quotes and brackets as treebanks write them). White space, case, accents and the shape of quotes and dashes play no part, so that only
visible characters need be the same.
"""

import itertools
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

#: Number of equal characters required after a difference; smaller number that suffices if a word and a
#: row begin there, within these distances.
ANCHOR, SHORT, NEAR, FARTHER = 16, 5, 40, 8
_PARTIAL = re.compile(r" ?bytes:(.*\\x[0-9a-fA-F]{2}.*)")
_ESCAPED = re.compile(rb"\\x([0-9a-fA-F]{2})")
_PUNCTUATION = re.compile(r"[\W_]")
_BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")
_TREEBANK = {"``": '"', "''": '"', "-LRB-": "(", "-RRB-": ")"}
#: Kana and Hangul syllables, whose decomposed first part is another letter.
_WHOLE = (("\u3040", "\u30ff"), ("\uac00", "\ud7a3"))
_SHAPES = str.maketrans("‘’‚‛“”„‟–—―−", "''''\"\"\"\"----")


@dataclass
class Found:
    """Alignment of a table's rows with a text: `row` (rows,) is the word of each, or -1.

    `whole` (words,) says of which words every character is there, and nothing else within them.
    """

    row: np.ndarray
    whole: np.ndarray


def find(words: Sequence[str], rows: Sequence[str]) -> Found:
    """Find each of a text's `words` in `rows`, which are words or tokens in the text's order.

    A row belongs to the word of its first visible character, as in recency.scoring.alignment; one
    of white space alone to the word behind it. Rows that are no part of the text belong to none.
    """
    given, row_of, first = characters(as_bytes(rows))
    bare = not _PUNCTUATION.search(given)  # a table without punctuation: only letters are compared
    text, word_of, _ = characters([word.encode() for word in words], bare)
    # position in the text of each character of the rows
    positions = matched(
        text, given, np.diff(word_of, prepend=-1) > 0, np.diff(row_of, prepend=-1) > 0
    )
    word = np.where(positions >= 0, np.append(word_of, -1)[positions], -1)
    row = np.append(word, -1)[np.minimum(first, len(given))]
    last = len(given) - 1
    if last >= 0:  # ignore white space at the end
        row[first > last] = word[last]
    whole = np.ones(len(words), bool)
    there = np.zeros(len(text), bool)
    there[positions[positions >= 0]] = True
    whole[word_of[~there]] = False
    strange = np.flatnonzero(positions < 0)
    if len(strange) and len(given):
        matched_rows = np.flatnonzero(positions >= 0)
        # A row with a character too many spoils the words that it touches; so does what stands
        # between two characters of one word.
        spoiled = np.isin(row_of, row_of[strange]) & (positions >= 0)
        whole[word[spoiled]] = False
        behind = np.searchsorted(matched_rows, strange)
        within = (behind > 0) & (behind < len(matched_rows))
        before, after = word[matched_rows[behind[within] - 1]], word[matched_rows[behind[within]]]
        whole[before[before == after]] = False
    return Found(row, whole)


def characters(texts: Sequence[bytes], bare: bool = False) -> tuple[str, np.ndarray, np.ndarray]:
    """Return the concatenated visible characters of texts, and the text of each.

    Without punctuation if `bare`.

    The third are places among them: of each text, its first visible character, or the one that its
    first byte is a part of, or the next behind it.
    """
    joined = b"".join(texts).decode("utf-8", "surrogateescape")
    ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
    sizes = np.array(
        [1 if c < "\x80" else len(c.encode("utf-8", "surrogateescape")) for c in joined], np.int64
    )
    start = np.append(0, np.cumsum(sizes))[:-1]
    shown = [not (c.isspace() or (bare and _PUNCTUATION.match(c))) for c in joined]
    visible = np.array(shown, bool)
    start, size = start[visible], sizes[visible]
    shown = "".join(map(_plain, itertools.compress(joined, visible)))
    owner = np.searchsorted(ends, start, side="right")
    begins = np.append(0, ends)[:-1]
    return shown, owner, np.searchsorted(start + size, begins, side="right")


def _plain(character: str) -> str:
    """Normalise characters one by one: no case and accents, plain quotes and dashes."""
    if character < "\x80":
        return character.lower()
    if any(low <= character <= high for low, high in _WHOLE):
        return character
    base = unicodedata.normalize("NFKD", character.translate(_SHAPES))[:1].lower()
    return base if len(base) == 1 else character


def plain(text: str) -> str:
    """Normalise a word for comparison: visible characters without case and accents."""
    return characters([text.encode("utf-8", "surrogateescape")])[0]


def as_bytes(tokens: Sequence[str]) -> list[bytes]:
    """Return the text bytes of tokens, by the vocabulary's notation."""
    if any("Ġ" in token for token in tokens):
        table = _byte_of()
        return [b"".join(table[c] if c in table else c.encode() for c in token) for token in tokens]
    if any(token.startswith("▁") for token in tokens):
        return [
            bytes([int(one[1], 16)])
            if (one := _BYTE.fullmatch(token))
            else token.replace("▁", " ").encode()
            for token in tokens
        ]
    if any(token.startswith("##") for token in tokens):
        return [token.removeprefix("##").encode() for token in tokens]
    return [
        _ESCAPED.sub(lambda byte: bytes([int(byte[1], 16)]), part[1].encode())
        if (part := _PARTIAL.fullmatch(token))
        else _TREEBANK.get(token, token).encode("utf-8", "surrogateescape")
        for token in tokens
    ]


def _byte_of() -> dict[str, bytes]:
    """Return GPT-2's byte-to-character map: printable bytes unchanged, others from 256."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    table = {chr(byte): bytes([byte]) for byte in shown}
    rest = [byte for byte in range(256) if byte not in shown]
    return table | {chr(256 + n): bytes([byte]) for n, byte in enumerate(rest)}


def matched(text: str, given: str, word_begins: np.ndarray, row_begins: np.ndarray) -> np.ndarray:
    """Return the position in `text` of each character of `given` (int64), -1 without a match.

    The two are walked in step. Where they differ, they go back to where a word and a row begin (the
    next word may begin with the letter of one that is missing), and go on at the nearest place from
    which `ANCHOR` characters are the same: what is skipped on either side is without a match.
    """
    positions = np.full(len(given), -1, np.int64)
    i = j = 0
    while i < len(text) and j < len(given):
        same = _common(text, given, i, j)
        positions[j : j + same] = np.arange(i, i + same)
        i, j = i + same, j + same
        if i < len(text) and j < len(given):
            for back in range(min(same + 1, ANCHOR)):
                if word_begins[i - back] and row_begins[j - back]:
                    positions[j - back : j] = -1
                    i, j = i - back, j - back
                    break
        step = _in_step_again(text, given, i, j, word_begins, row_begins)
        if step is None:
            break
        i, j = step
    return positions


def _in_step_again(
    text: str, given: str, i: int, j: int, word_begins: np.ndarray, row_begins: np.ndarray
) -> tuple[int, int] | None:
    """Return the nearest positions after a difference from which the texts agree."""
    best, skipped, step = len(text) + len(given), 0, None
    while j + skipped < len(given) and skipped < best:
        start = j + skipped
        for size in (ANCHOR, SHORT):
            anchor = given[start : start + size]
            if size == SHORT and not row_begins[start]:
                continue
            more = FARTHER if size == SHORT else 0
            most = max(0, min(best - skipped - more, NEAR if size == SHORT else len(text)))
            at = text.find(anchor, i, i + most + size)
            while at >= 0:
                sure = len(anchor) == ANCHOR or at + len(anchor) == len(text)
                sure = sure or (word_begins[at] and row_begins[start])
                if sure and skipped + at > i and skipped + at - i + more < best:
                    best, step = skipped + at - i + more, (at, start)
                    break
                at = text.find(anchor, at + 1, i + most + size)
        skipped += 1
    return step


def _common(text: str, given: str, i: int, j: int) -> int:
    """Return the number of equal characters from two positions on."""
    same, step = 0, 1024
    while step:
        while text[i + same : i + same + step] == given[j + same : j + same + step]:
            if min(len(text) - i, len(given) - j) < same + step:
                break
            same += step
        step //= 2
    return same
