"""Words of a text against the tokens of a tokenizer, by character offsets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from job import InputError


@dataclass
class Text:
    """One item: its token ids, and for each token the number of its word within the item."""

    ids: np.ndarray  # int64 (tokens,)
    word: np.ndarray  # int64 (tokens,), not decreasing
    words: int


def align(words: list[str], tokenizer, where: str = "") -> Text:
    """Tokenise words joined by single spaces and give each token the word that it lies in.

    `tokenizer` is a `tokenizers.Tokenizer`. A token belongs to the word of its first character
    that is not a space, so that the space before a word counts with the word. Raises InputError
    for an empty word and for one without a token.
    """
    for number, word in enumerate(words, 1):
        if not word or any(character.isspace() for character in word):
            raise InputError(f"{where}word {number} ({word!r}) is empty or has white space within")
    text = " ".join(words)
    encoding = tokenizer.encode(text, add_special_tokens=False)
    ends = np.cumsum([len(word) + 1 for word in words])  # just after the space behind each word
    first = np.empty(len(encoding.ids), dtype=np.int64)
    for number, (start, end) in enumerate(encoding.offsets):
        while start < end and text[start].isspace():
            start += 1
        first[number] = start
    word = np.searchsorted(ends, first, side="right")
    missing = np.setdiff1d(np.arange(len(words)), word)
    if len(missing):
        number = int(missing[0])
        raise InputError(
            f"{where}word {number + 1} ({words[number]!r}) has no token of its own: the tokenizer "
            "merges it with a neighbour or drops it"
        )
    return Text(np.asarray(encoding.ids, dtype=np.int64), word, len(words))


def word_initial(tokenizer) -> np.ndarray:
    """Return a mask over the vocabulary: tokens that begin a word, with the end of a text.

    B of Oh & Schuler (2024) and Pimentel & Meister (2024): byte-level tokens that start with a
    space, and special tokens.
    """
    size = tokenizer.get_vocab_size(with_added_tokens=True)
    mask = np.zeros(size, dtype=bool)
    for token, number in tokenizer.get_vocab(with_added_tokens=True).items():
        mask[number] = token.startswith(("Ġ", "▁"))
    for number in tokenizer.get_added_tokens_decoder():
        mask[number] = True
    return mask
