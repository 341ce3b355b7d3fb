"""Convert texts (strings, lists of words or tables) to a table of words.

Whitespace correction: count the space after a word with that word (three published variants).

If tokens begin with a space, the end of a word is part of the next token. With B the tokens that
may follow a complete word and P_B(c) their probability after c, the corrected surprisal of w in c
is s'(w) = s(w) - log P_B(c·w) + log P_B(c) (Oh & Schuler 2024; Pimentel & Meister 2024). The
variants differ at the beginning and the end of a text:

- `oh_schuler`: B is the set of tokens that begin with a space; a text begins with P_B = 1.
- `pimentel_meister`: B also contains the end of the text; a text begins with P_B = 1.
- `pimentel_meister_first`: in addition, the first word's probability is conditional on beginning a
  text: if it has no space, it is divided by the mass of the tokens without a space.
"""

import re
from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from readingtimes import checks
from readingtimes.own.usual_names import is_named
from recency.errors import InputError, warn

Texts = str | Iterable[str] | Iterable[Iterable[str]] | pd.DataFrame
Spaces = Iterable[Iterable[bool]]
#: Column with the first character of each word in its original text.
START = "start_character"
#: Texts of a single word each, from which on they are warned of.
SINGLE = 5


def as_words(texts: Texts, space_after: Spaces | None = None) -> pd.DataFrame:
    """Return a table with item, position, word and word_id, one row per word.

    Parameters
    ----------
    texts : str, list of str, list of lists of str, or DataFrame
        A text or texts, split at white space; texts as lists of words; or a table with `item` and
        `word`, to which missing `word_id` and `position` are added. With a `position` (in the item,
        or in `sentence`, if there is one) words are put in its order. White space around a word of
        a list or a table is no part of it.
    space_after : list of lists of bool, optional
        For texts as lists of words: whether a space follows each word. Becomes a column, which a
        table may also have.

    Returns
    -------
    DataFrame
        `item` numbers texts from "1", and `position` words from 1. With strings, `start_character`
        is the first character of a word in its text (-1 for words in lists).

    Raises
    ------
    InputError
        For an invalid text, word or boolean, with its position.
    """
    if isinstance(texts, pd.DataFrame):
        if space_after is not None:
            raise InputError(
                "space_after goes with lists of words; a data frame has it as a column"
            )
        return _check_table(texts)
    if isinstance(texts, bytes | Mapping) or not isinstance(texts, Iterable):
        raise InputError(
            f"texts are a string, a list of strings, a list of lists of words, or a data frame with "
            f"the columns item and word, not {type(texts).__name__}"
        )
    rows: list[tuple[str, int, str]] = []
    starts: list[int] = []
    lengths: list[int | None] = []  # None for a string
    for number, text in enumerate([texts] if isinstance(texts, str) else texts, 1):
        words = _split_words(text, number)
        lengths.append(None if isinstance(text, str) else len(words))
        rows += [(str(number), position, word) for position, word in enumerate(words, 1)]
        if isinstance(text, str):
            starts += [start for start, _ in split(text)]
        else:
            starts += [-1] * len(words)
    frame = pd.DataFrame(rows, columns=["item", "position", "word"])
    frame = frame.astype({"item": "str", "position": "int32", "word": "str"})
    frame = frame.assign(word_id=np.arange(len(frame), dtype=np.int32))
    if None in lengths:
        frame = frame.assign(**{START: np.array(starts, np.int32)})
    if space_after is None:
        return frame
    return frame.assign(space_after=_spaces_of_lists(space_after, lengths))


def warn_of(words: pd.DataFrame, have_prefix: bool = False) -> None:
    """Warn of words with damage, of positions without a word, and of texts that are a word each.

    Parameters
    ----------
    words : DataFrame
        As `as_words` returns, W rows.
    have_prefix : bool
        Whether a context stands before the texts.
    """
    found = [f"the words have {text}" for text in checks.damaged(words["word"])]
    units = [name for name in ("item", "sentence") if name in words]
    gap = words.groupby(units, sort=False)["position"].diff() > 1
    if gap.any():
        row = words[gap].iloc[0]
        found.append(
            f"item {row['item']!r} has no word before {row['word']!r}, its position {row['position']} "
            f"({gap.sum():,} such gaps): its context lacks them"
        )
    if not have_prefix and len(words) >= SINGLE and words["item"].is_unique:
        found.append(
            f"all {len(words):,} texts are a single word, without a context; a text is a string, or a list of "
            "words within a list"
        )
    if (spaced := words["word"].str.contains(r"\s")).mean() > 0.5:
        found.append(
            f"words have spaces, such as {words['word'][spaced].iloc[0]!r}, and a row is scored as one word: "
            "give each word a row"
        )
    for text in found:
        warn(text)


def split(text: str) -> list[tuple[int, str]]:
    """Split a text at white space; return each word's first character and the word."""
    return [(match.start(), match[0]) for match in re.finditer(r"\S+", text)]


def spaces_of(words: pd.DataFrame) -> np.ndarray | None:
    """Return the column `space_after` as booleans; None without one.

    Raises InputError for a value that is neither true nor false.
    """
    if "space_after" not in words:
        return None
    column = words["space_after"]
    if column.dtype == bool:
        return column.to_numpy()
    for label, value in zip(column.index, column, strict=True):
        if not isinstance(value, bool | np.bool_):
            raise InputError(
                f"the table of words, row {label}: space_after is {value!r}, neither true nor false"
            )
    return column.to_numpy(bool)


def _spaces_of_lists(space_after: Spaces, lengths: list[int | None]) -> np.ndarray:
    """Return `space_after` of all texts' words as one array; `lengths` are the numbers of words."""
    lists = _as_list(space_after, "space_after")
    if len(lists) != len(lengths):
        raise InputError(f"space_after has {len(lists)} lists for {len(lengths)} texts")
    flags: list[bool] = []
    for number, (spaces, length) in enumerate(zip(lists, lengths), 1):
        where = f"space_after of text {number}"
        if length is None:
            raise InputError(f"{where}: the text is a string; give it as a list of words")
        values = _as_list(spaces, where)
        if len(values) != length:
            raise InputError(f"{where} has {len(values)} values for {length} words")
        for position, value in enumerate(values, 1):
            if not isinstance(value, bool | np.bool_):
                raise InputError(f"{where}, word {position}: {value!r} is neither true nor false")
        flags += values
    return np.array(flags, bool)


def _as_list(values: object, where: str) -> list:
    """Return the values of a list or another iterable."""
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise InputError(f"{where} is {values!r}, not a list")
    return list(values)


def _split_words(text: object, number: int) -> list[str]:
    """Return the words of one text."""
    if isinstance(text, str):
        words = text.split()
    elif isinstance(text, Iterable) and not isinstance(text, bytes | Mapping):
        words = list(text)
    else:
        raise InputError(f"text {number} is {text!r}, neither a string nor a list of words")
    words = [word.strip() if isinstance(word, str) else word for word in words]
    if not words:
        raise InputError(f"text {number} ({text!r}) has no words; leave it out")
    for position, word in enumerate(words, 1):
        if problem := _problem(word):
            raise InputError(f"text {number}, word {position}: {problem}")
    return words


def _check_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Check a table of words, and add missing `word_id` and `position`."""
    missing = [column for column in ("item", "word") if column not in frame]
    if missing:
        raise InputError(
            f"the table of words has no column {missing[0]}; there are "
            f"{', '.join(map(str, frame.columns)) or 'none'}"
        )
    for label, word in zip(frame.index, frame["word"], strict=True):
        if problem := _problem(word):
            raise InputError(f"the table of words, row {label}: {problem}")
    frame = frame.assign(word=frame["word"].str.strip())
    _require_one_reader(frame)
    frame = _in_order(frame)
    item = frame["item"]
    if item.isna().any():
        raise InputError(f"the table of words, row {item.index[item.isna()][0]}: no item")
    torn = (item != item.shift()) & item.duplicated()
    if torn.any():
        raise InputError(
            f"the table of words, row {item.index[torn][0]}: item {item[torn].iloc[0]!r} occurs in two "
            "places; bring its words together, in reading order"
        )
    more = {}
    if "word_id" not in frame:
        more["word_id"] = np.arange(len(frame), dtype=np.int32)
    if "position" not in frame:
        more["position"] = (frame.groupby("item", sort=False).cumcount() + 1).astype(np.int32)
    return frame.assign(**more) if more else frame


def _require_one_reader(frame: pd.DataFrame) -> None:
    """Raise InputError for a table with a row for each reader of a word."""
    for name in frame.columns:
        if name in ("item", "word", "position", "word_id") or not is_named("subject", str(name)):
            continue
        read = frame.groupby(["item", name], sort=False)["word"].agg(tuple)
        again = read.groupby(level="item", sort=False).apply(lambda each: each.duplicated().any())
        if again.any():
            raise InputError(
                f"the table of words has the same words of item {again.idxmax()!r} for several values of "
                f"{name}, a row per reader and word: give each word once, as by "
                "`.drop_duplicates(['item', 'position'])`, and merge the result with the times"
            )


def _in_order(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table with the words of each item, or of its sentences, in the order of `position`."""
    if "position" not in frame:
        return frame
    if not pd.api.types.is_numeric_dtype(frame["position"]):
        numbers = pd.to_numeric(frame["position"], errors="coerce")
        if (none := numbers.isna()).any():
            label, value = frame.index[none][0], frame["position"][none].iloc[0]
            raise InputError(
                f"the table of words, row {label}: position {value!r} is no number; leave the column out if "
                "rows are in reading order"
            )
        frame = frame.assign(position=numbers)
    keys = ["item", *(["sentence"] if "sentence" in frame else []), "position"]
    again = frame.duplicated(keys)
    if again.any():
        label, row = frame.index[again][0], frame[again].iloc[0]
        raise InputError(
            f"the table of words, row {label}: position {row['position']} of item {row['item']!r} is there "
            f"twice ({again.sum():,} such rows), as in a table with a row per reader: give each word once, or add `sentence` if "
            "positions begin again in each"
        )
    ordered = frame.assign(_part=frame.groupby(keys[:-1], sort=False).ngroup())
    ordered = ordered.sort_values(["_part", "position"], kind="stable").drop(columns="_part")
    return ordered if not ordered.index.equals(frame.index) else frame


def _problem(word: object) -> str | None:
    """Return why a value is no word; None if it is one."""
    if not isinstance(word, str):
        return f"{word!r} is not a string"
    if not word.strip():
        return f"{word!r} is empty"
    if not word.isascii() and any("\ud800" <= character <= "\udfff" for character in word):
        return f"{word!r} has half of a surrogate pair: the file was read in a wrong encoding"
    return None


VARIANTS = ("pimentel_meister", "oh_schuler", "pimentel_meister_first")


def boundaries(
    space: np.ndarray, end: np.ndarray, first_marked: bool, variant: str = VARIANTS[0]
) -> np.ndarray:
    """Return log P_B before each word and after the last.

    `space` and `end` are the log masses (words + 1,) of the tokens that begin with a space and of
    those that end a text; `first_marked` says whether the first word's token begins with a space.
    """
    if variant not in VARIANTS:
        raise ValueError(f"correction {variant!r} is none of {', '.join(VARIANTS)}")
    with np.errstate(invalid="ignore"):  # NaN before the first word without a begin token
        mass = space.copy() if variant == "oh_schuler" else np.logaddexp(space, end)
    if variant != "pimentel_meister_first" or np.isnan(space[0]):
        mass[0] = 0.0
    elif not first_marked:
        mass[0] = np.log(-np.expm1(space[0]))
    return mass


def correct(plain: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Return corrected surprisal from `plain` (words,) and log P_B, `before` (words + 1,), nats."""
    return plain - before[1:] + before[:-1]


def discrepancy(tokens: np.ndarray, corrected: np.ndarray, before: np.ndarray) -> float:
    """Return the absolute error of Σs' = Σs - log P_B(end) + log P_B(start) for a text, in nats.

    Σs is over `tokens`, not words, so that tokens that are lost or counted twice are detected.
    Words without surprisal (NaN) at the start of the text and their tokens are ignored.
    """
    scored = np.flatnonzero(~np.isnan(corrected))
    if len(scored) == 0:
        return 0.0
    expected = np.nansum(tokens) - before[-1] + before[scored[0]]
    return float(abs(corrected[scored].sum() - expected))
