"""CoNLL-U, the format of Universal Dependencies: syntactic words with heads and relations.

Multiword tokens ("don't" for "do" and "n't") are split into their syntactic words, without a space
between them if their concatenation is the surface token. Empty nodes ("8.1") belong to the enhanced
graph and are skipped.
"""

from pathlib import Path

import numpy as np
import pandas as pd

from readingtimes.errors import InputError
from readingtimes.strict_tables import content

FIELDS = 10  # columns of CoNLL-U: ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC
WAY_OUT = "correct the line, or get the file again"


def read(path: str | Path) -> pd.DataFrame:
    """Read sentence, position, word, head, relation, upos and space_after, one row per word.

    Sentences count from 1, positions from 1 within a sentence; `head` is a position, 0 for the root;
    `space_after` is false within a multiword token and before what is written next to the word.
    Raises InputError with file and line of any damage.
    """
    path, rows, sentences = Path(path), [], 0
    lines: list[tuple[int, list[str]]] = []
    text = _decode(path)
    for number, line in enumerate([*text.split("\n"), ""], 1):
        line = line.removesuffix("\r")
        if line and not line.startswith("#"):
            lines.append((number, line.split("\t")))
        elif not line.strip() and lines:
            sentences += 1
            rows += [(sentences, *word) for word in _sentence(path, lines)]
            lines = []
    if not rows:
        raise InputError(f"{path} has no sentences; is it a treebank in CoNLL-U?")
    columns = ["sentence", "position", "word", "head", "relation", "upos", "space_after"]
    table = pd.DataFrame(rows, columns=columns)
    return table.astype(dict.fromkeys(("sentence", "position", "head"), "int32"))


def _decode(path: Path) -> str:
    data = content(path)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise InputError(f"{path}, line {line}: not UTF-8; {WAY_OUT}") from error


def _sentence(path: Path, lines: list[tuple[int, list[str]]]) -> list[tuple]:
    """Return position, word, head, relation, upos and space_after of a sentence's words."""
    words: list[list] = []
    numbers: list[int] = []
    ranges: list[tuple[int, int, int, str, bool]] = []

    def fail(number: int, problem: str):
        raise InputError(f"{path}, line {number}: {problem}; {WAY_OUT}")

    for number, fields in lines:
        if len(fields) != FIELDS:
            fail(number, f"{len(fields)} columns instead of {FIELDS}, apart by tabs")
        position, form, upos, head, relation, misc = (fields[i] for i in (0, 1, 3, 6, 7, 9))
        space = "SpaceAfter=No" not in misc.split("|")
        if "." in position:
            continue
        if "-" in position:
            ends = position.split("-")
            if not all(end.isdecimal() for end in ends) or len(ends) != 2:
                fail(number, f"ID {position!r} is no range of words")
            ranges.append((number, int(ends[0]), int(ends[1]), form, space))
            continue
        if position != str(len(words) + 1):
            fail(number, f"ID {position!r} where {len(words) + 1} is expected")
        if not head.isdecimal():
            fail(number, f"head {head!r} of word {position} ({form!r}) is no number")
        if not form.strip():
            fail(number, f"word {position} is empty")
        words.append([int(position), form, int(head), relation, upos, space])
        numbers.append(number)
    if not words:
        fail(lines[0][0], "a sentence without words")
    for number, first, last, form, space in ranges:
        if not 1 <= first < last <= len(words):
            fail(number, f"a token over words {first} to {last} of {len(words)}")
        parts = words[first - 1 : last]
        for word in parts[:-1]:
            word[-1] = "".join(part[1] for part in parts) != form
        parts[-1][-1] = space
    wrong = _not_a_tree([word[2] for word in words])
    if wrong is not None:
        position, problem = wrong
        fail(numbers[position], f"word {position + 1} ({words[position][1]!r}): {problem}")
    return [tuple(word) for word in words]


def _not_a_tree(heads: list[int]) -> tuple[int, str] | None:
    """Return the word (from 0) and the reason if heads do not form a tree, else None."""
    above = np.array([0, *heads])
    outside = np.flatnonzero(above >= len(above))
    if len(outside):
        return outside[0] - 1, f"its head {above[outside[0]]} is outside the sentence"
    roots = np.flatnonzero(above[1:] == 0)
    if len(roots) > 1:
        return roots[1], f"a second root in addition to word {roots[0] + 1}"
    for _ in range(len(above).bit_length()):  # pointer doubling
        above = above[above]
    below_none = np.flatnonzero(above)
    if len(roots) == 0:
        return 0, "the sentence has no root, and heads go round in a circle"
    if len(below_none):
        return below_none[0] - 1, "its heads go round in a circle"
    return None
