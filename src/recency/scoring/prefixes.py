"""Context before each text that is read and not analysed: a question, an instruction."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from recency.errors import InputError
from recency.scoring import alignment
from recency.scoring.results import Result
from recency.scoring.texts import START, spaces_of
from recency.scoring.tokenizer import begin_token


def as_prefixes(prefix: str | Iterable[str], texts: int) -> list[str]:
    """Return the prefix of each text.

    Raises InputError for values that are no strings, and for another number of them than of texts.
    """
    if isinstance(prefix, str):
        return [prefix] * texts
    if isinstance(prefix, bytes | Mapping) or not isinstance(prefix, Iterable):
        raise InputError(f"prefix: {prefix!r} is neither a string nor a list of strings")
    prefixes = list(prefix)
    if len(prefixes) != texts:
        raise InputError(
            f"prefix has {len(prefixes)} strings for {texts} texts: give one string for all texts, or one "
            "per text"
        )
    for number, value in enumerate(prefixes, 1):
        if not isinstance(value, str):
            raise InputError(f"prefix of text {number}: {value!r} is not a string")
    return prefixes


def add(words: pd.DataFrame, prefixes: Sequence[str]) -> pd.DataFrame:
    """Return the words of texts with those of their prefixes before them.

    Parameters
    ----------
    words : DataFrame
        Contract 1.
    prefixes : sequence of str
        One per item, in order; split at white space.

    Returns
    -------
    DataFrame
        `item`, `word`, `space_after`, the character at which each word starts in its own text, and
        as `word_id` the row in `words`; -1 for a word of a prefix.
    """
    flags = spaces_of(words)
    spaces = np.ones(len(words), bool) if flags is None else flags
    lengths = words["word"].str.len().to_numpy() + spaces
    starts = words[START].to_numpy() if START in words else np.full(len(words), -1)
    parts = []
    for prefix, (item, rows) in zip(
        prefixes, words.groupby("item", sort=False).indices.items(), strict=True
    ):
        before = prefix.split()
        gaps = np.ones(len(before), bool)
        if flags is not None:  # a text without spaces follows a prefix directly
            gaps[-1:] = prefix[-1:].isspace()
        start = starts[rows]
        if start[0] == -1:
            start = np.append(0, np.cumsum(lengths[rows])[:-1])
        parts.append(
            pd.DataFrame(
                {
                    "item": item,
                    "word": [*before, *words["word"].iloc[rows]],
                    "word_id": np.append(np.full(len(before), -1), rows).astype(np.int32),
                    "space_after": np.append(gaps, spaces[rows]),
                    START: np.append(np.zeros(len(before), int), start),
                }
            )
        )
    table = pd.concat(parts, ignore_index=True)
    return table.drop(columns="space_after") if flags is None else table


def score_given(
    network, words: pd.DataFrame, prefixes: Sequence[str], score: Callable[[pd.DataFrame], Result]
) -> Result:
    """Score texts whose prefixes are the input of an encoder; `word_id` is the row in `words`."""
    texts, parts = words.groupby("item", sort=False).ngroup().map(prefixes.__getitem__), []
    try:
        for prefix in dict.fromkeys(prefixes):
            network.read(" ".join(prefix.split()))
            rows = np.flatnonzero(texts == prefix)
            parts.append(score(words.iloc[rows].assign(word_id=rows.astype(np.int32))))
    finally:
        network.read("")
    tables = [part.table for part in parts]
    tokens = None
    if parts[0].tokens is not None:
        tokens = pd.concat([part.tokens for part in parts]).sort_values("word_id", kind="stable")
    table = pd.concat(tables, ignore_index=True)
    table.attrs = tables[0].attrs
    return replace(parts[0], table=table, tokens=tokens)


def require_room(model, prefixes: Sequence[str], bos: bool | str, window: int | None) -> None:
    """Raise InputError for a prefix that fills a network's window."""
    from recency.scoring.forward import window_of
    from recency.scoring.masked import tokens_per_input

    if model.masked:
        size, begin = tokens_per_input(model.network, model.around, window), 0
    else:
        size, begin = window_of(model.network, window), begin_token(model, bos) is not None
    for number, prefix in enumerate(prefixes, 1):
        tokens = len(alignment.align(prefix.split(), model.tokenizer, kind=model.kind).ids)
        if tokens + begin >= size:
            raise InputError(
                f"prefix of text {number}: its {tokens:,} tokens leave no room for the text in the "
                f"model's window of {size:,}; shorten it"
            )


def remove(
    words: pd.DataFrame, table: pd.DataFrame, tokens: pd.DataFrame | None
) -> tuple[pd.DataFrame, pd.DataFrame | None]:
    """Return the tables of a result of `add` without the rows of the prefixes.

    Their keys are those of `words` again.
    """
    analysed = table["word_id"].to_numpy()
    order = np.argsort(analysed, kind="stable")  # rows of the words, as they were given
    attributes = table.attrs
    table = table.iloc[order[(analysed == -1).sum() :]].reset_index(drop=True)
    table.attrs = attributes
    if tokens is None:
        return table, None
    tokens = tokens[tokens["word_id"] >= 0].reset_index(drop=True)
    rows = tokens["word_id"].to_numpy()
    keys = [key for key in ("word_id", "item", "position", "word") if key in words]
    return table, tokens.assign(**{key: words[key].to_numpy()[rows] for key in keys})
