"""Lists of words to study, and as many unstudied words (lures) for each list."""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from readingtimes import filters
from recency.errors import InputError

#: Minimum number of letters of a dataset's words, since shorter words are mostly function words.
LEAST = 4
WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")


@dataclass(frozen=True)
class WordList:
    """A list: the studied words, in order, and as many unstudied words."""

    studied: tuple[str, ...]
    lures: tuple[str, ...]


def read_pool(path: str | Path, filter: str | None = None) -> list[str]:
    """Return the words for lists, in alphabetical order.

    Parameters
    ----------
    path : path
        Words of a dataset (contract 1, .parquet), restricted to words of at least `LEAST` lower-case
        letters; or a text file with one word per line.
    filter : str, optional
        Condition on columns of the dataset's words.

    Raises
    ------
    InputError
        If a line is not one word, or a word occurs twice.
    """
    if Path(path).suffix == ".parquet":
        table = pd.read_parquet(path)
        if filter:
            held = filters.evaluated(table, "serial_position → filter", filter)
            table = table[held.fillna(False).to_numpy(bool)]
        words = table["word"].drop_duplicates()
        return sorted(words[[w.isalpha() and w.islower() and len(w) >= LEAST for w in words]])
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    seen: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        if not (word := line.strip()):
            continue
        if not WORD.fullmatch(word):
            raise InputError(f"{path}, line {number}: {word!r} is not one word of letters")
        if word.lower() in seen:
            raise InputError(
                f"{path}, line {number}: {word!r} is already in line {seen[word.lower()]}; a list "
                "contains no word twice"
            )
        seen[word.lower()] = number
    return sorted(lines[number - 1].strip() for number in seen.values())


def draw_lists(pool: list[str], length: int, number: int, seed: int) -> list[WordList]:
    """Draw `number` lists of `length` words and as many lures, without repetition within a list."""
    if len(pool) < 2 * length:
        raise InputError(
            f"serial_position: {len(pool)} words to draw from, and a list of {length} needs "
            f"{2 * length}, half of them unstudied; supply more words or use shorter lists (lengths)"
        )
    random = np.random.default_rng((seed, length))
    drawn = [random.choice(pool, 2 * length, replace=False) for _ in range(number)]
    return [WordList(tuple(words[:length]), tuple(words[length:])) for words in drawn]


def written(words: tuple[str, ...]) -> list[str]:
    """Return a list's words as text, with commas between them and a final full stop."""
    return [f"{word}," for word in words[:-1]] + [f"{words[-1]}."]
