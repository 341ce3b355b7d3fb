"""Windows that show a network no more than the last words before each word."""

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
    """Yield for each of `lengths` a window for each word of the texts: so many words, and the word.

    `texts` and `words` hold (tokens,) each: token ids, and the number of the word that each belongs
    to, not decreasing. The text's number in a window is that of the text, as if all texts stood again
    behind one another for each length. The begin token stands before each window. Only the
    predictions of the word's own tokens count; a token with nothing before it is left out. What is
    longer than the model's input is cut as a long text is.
    """
    for layer, length in enumerate(lengths, 1):
        yield [
            replace(window, text=number + layer * len(texts))
            for number, (ids, word) in enumerate(zip(texts, words, strict=True))
            for window in _of_text(ids, word, length, size, stride, bos)
        ]


def _of_text(ids, word, length, size, stride, bos) -> Iterator[Window]:
    """Yield the windows of one text, numbered 0."""
    firsts = np.flatnonzero(np.append(True, word[1:] != word[:-1])) if len(word) else []
    lasts = np.append(firsts[1:], len(word)) if len(word) else []
    for number, (first, last) in enumerate(zip(firsts, lasts)):
        begin = int(firsts[max(0, number - length)])
        if bos is None and last - begin < 2:
            continue  # nothing stands before the only token
        for each in windows(ids[begin : last - 1], 0, size, stride, bos):
            fresh = max(each.fresh, int(first) - begin - each.start)
            if fresh < len(each.ids):
                yield replace(each, start=each.start + begin, fresh=fresh)
