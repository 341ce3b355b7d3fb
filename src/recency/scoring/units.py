"""Units of a text that are scored in place of words: characters, morphemes, phrases, any spans."""

from collections.abc import Iterable, Mapping
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from recency.errors import InputError
from recency.scoring import surprisal as scoring
from recency.scoring.texts import START, Texts, spaces_of

#: Columns of a unit: its text as given (missing between spans), and its characters in its text.
UNIT, FROM, TO = "unit", "start", "end"


def as_words(texts: Texts, units: Iterable) -> pd.DataFrame:
    """Return the units of texts as a table of words, with the text between them.

    Parameters
    ----------
    texts : str or list of str
    units : list, or one per text
        Strings that concatenate to the text, or spans (start, end) of its characters in order.

    Returns
    -------
    DataFrame
        item, word (white space as single spaces), space_after, start_character; unit (None for text
        between spans), start, end.

    Raises
    ------
    InputError
        For texts that are no strings, and units that are not of the text, with their numbers.
    """
    is_one = isinstance(texts, str)
    texts, units = ([texts], [units]) if is_one else (_as_list(texts, "texts"), _as_list(units))
    if len(units) != len(texts):
        raise InputError(f"units has {len(units)} lists for {len(texts)} texts: give one per text")
    rows = []
    for number, (text, of_text) in enumerate(zip(texts, units), 1):
        if not isinstance(text, str):
            raise InputError(f"units need texts that are strings, and text {number} is {text!r}")
        previous = 0
        spans = _spans(text, of_text, number)
        for start, end in [*spans, (len(text), len(text))]:
            if text[previous:start].strip():
                rows.append((str(number), text, None, previous, start))
            if start < end:
                rows.append((str(number), text, text[start:end], start, end))
            previous = end
    table = pd.DataFrame(rows, columns=["item", "text", UNIT, FROM, TO])
    parts = [text[start:end] for text, start, end in zip(table.text, table[FROM], table[TO])]
    table["word"] = [" ".join(part.split()) for part in parts]
    table[START] = table[FROM] + [len(part) - len(part.lstrip()) for part in parts]
    visible_end = table[FROM] + [len(part.rstrip()) for part in parts]
    ends_text = table["item"] != table["item"].shift(-1)
    table["space_after"] = ends_text | (table[START].shift(-1) > visible_end)
    return table.drop(columns="text")


def _spans(text: str, units: Iterable, number: int) -> list[tuple[int, int]]:
    """Return the spans of a text's units."""
    spans: list[tuple[int, int]] = []
    units = _as_list(units, f"units of text {number}")
    are_strings = isinstance(next(iter(units), None), str)
    for at, unit in enumerate(units, 1):
        where, previous = f"text {number}, unit {at}", spans[-1][1] if spans else 0
        if isinstance(unit, bytes):
            raise InputError(
                f"{where}: {unit!r} has bytes, which cut characters; give strings or spans"
            )
        if are_strings:
            if not isinstance(unit, str) or not text.startswith(unit, previous):
                rest = text[previous : previous + 20]
                raise InputError(
                    f"{where}: {unit!r} is not the text from character {previous} on, {rest!r}; units "
                    "concatenate to the text, with its white space"
                )
            spans.append((previous, previous + len(unit)))
        elif (
            isinstance(unit, str)
            or not isinstance(unit, Iterable)
            or len(pair := list(unit)) != 2
            or not all(isinstance(end, Integral) for end in pair)
            or not previous <= pair[0] < pair[1] <= len(text)
        ):
            raise InputError(
                f"{where}: {unit!r} is no span (start, end) of characters, from {previous} to {len(text)}"
            )
        else:
            spans.append((int(pair[0]), int(pair[1])))
        if not text[slice(*spans[-1])].strip():
            raise InputError(
                f"{where}: {text[slice(*spans[-1])]!r} is blank; white space belongs to a neighbour"
            )
    if are_strings and spans[-1][1] != len(text):
        raise InputError(f"text {number}: its units end before {text[spans[-1][1] :][:20]!r}")
    return spans


def refuse(settings: Mapping[str, Any]) -> None:
    """Raise InputError for the first setting that is not None."""
    for name in [name for name, value in settings.items() if value is not None]:
        raise InputError(f"units are incompatible with {name}, which is of words; leave one out")


def _as_list(values: object, name: str = "units") -> list:
    if isinstance(values, str | bytes | Mapping | pd.DataFrame) or not isinstance(values, Iterable):
        raise InputError(f"{name}: {values!r} is not a list; units are of texts that are strings")
    return list(values)


def require_whole_tokens(
    model: scoring.Model | Path, words: pd.DataFrame, leading_space: bool
) -> None:
    """Raise InputError for a token of two units, in which a boundary has no probability.

    `words` are those of `as_words`, also with a prefix. Other models than causal networks are refused.
    """
    if isinstance(model, Path) or model.masked:
        raise InputError("units need a causal network, not an n-gram model or a masked one")
    items = words.groupby("item", sort=False).indices
    shown = words["word"].to_numpy()
    texts = scoring.align_items(model, items, shown, spaces_of(words), leading_space)
    for number, (rows, text) in enumerate(zip(items.values(), texts), 1):
        for token in np.flatnonzero(text.last > text.word)[:1]:
            name = model.tokenizer.id_to_token(int(text.ids[token]))
            first, last = rows[text.word[token]], rows[text.last[token]]
            raise InputError(
                f"text {number}: the token {name!r} begins in the unit {shown[first]!r} and reaches into "
                f"{shown[last]!r}, and a boundary within a token has no probability; join these units, or end "
                "one where a token ends (rows='tokens' lists them)"
            )


def table_of(words: pd.DataFrame, scored: pd.DataFrame) -> pd.DataFrame:
    """Return the units' rows of a table of `words`, with unit, start and end in place of word."""
    table = pd.concat([words[[UNIT, FROM, TO]], scored.drop(columns="word")], axis=1)
    table = table[words[UNIT].notna()].reset_index(drop=True)
    table["position"] = table.groupby("item", sort=False).cumcount().astype(np.int32) + 1
    keys = ["item", "position", UNIT, FROM, TO]
    return table[[*keys, *table.columns.drop(keys)]]
