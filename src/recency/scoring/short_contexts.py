"""Windows with a limited number of context words before each word."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from recency.scoring.windows import Window, windows


def short_contexts(
    texts: Sequence[np.ndarray],
    words: Sequence[np.ndarray],
    lengths: Sequence[int],
    size: int,
    stride: int,
    bos: int | None,
) -> Iterator[list[Window]]:
    """Yield, for each of `lengths`, the windows of all words with so many context words.

    `texts` and `words` hold, for each text, token ids (tokens,) and the numbers of their words
    (tokens,), not decreasing. Windows number the texts again for each length: text + length's index
    · texts. The begin token precedes each window. Only the word's own tokens are scored; a token
    without context is left out. Windows longer than the model's input are cut like long texts.
    """
    for layer, length in enumerate(lengths, 1):
        yield [
            replace(window, text=number + layer * len(texts))
            for number, (ids, word) in enumerate(zip(texts, words, strict=True))
            for window in _text_windows(ids, word, length, size, stride, bos)
        ]


def _text_windows(ids, word, length, size, stride, bos) -> Iterator[Window]:
    """Yield the windows of one text, numbered 0."""
    firsts = np.flatnonzero(np.append(True, word[1:] != word[:-1])) if len(word) else []
    lasts = np.append(firsts[1:], len(word)) if len(word) else []
    for number, (first, last) in enumerate(zip(firsts, lasts)):
        begin = int(firsts[max(0, number - length)])
        if bos is None and last - begin < 2:
            continue  # the only token has no context
        for window in windows(ids[begin : last - 1], 0, size, stride, bos):
            fresh = max(window.fresh, int(first) - begin - window.start)
            if fresh < len(window.ids):
                yield replace(window, start=window.start + begin, fresh=fresh)
