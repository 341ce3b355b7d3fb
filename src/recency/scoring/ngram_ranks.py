"""Ranks of words under an n-gram model, by probability within its vocabulary.

After a context, only the listed n-grams with that context have probabilities of their own; all
other words have their unigram probability times the backoff weights. A rank therefore needs only
those n-grams and a search in the sorted unigrams.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from recency.errors import InputError
from recency.scoring import ngram


@dataclass
class _Listed:
    """The entries of an ARPA file for some contexts, log10."""

    words: dict[str, int] = field(default_factory=dict)  # without <s>
    unigrams: list[float] = field(default_factory=list)
    weights: dict[str, float] = field(default_factory=dict)  # backoff weights by context
    following: dict[str, tuple[list[int], list[float]]] = field(default_factory=dict)  # by context


def score(
    path: str | Path, sentences: Sequence[Sequence[str]], bos: bool = True
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return log10 p and the rank (1 for the most probable) of each word of each sentence.

    `path` is an ARPA file. Unknown words have the probability and rank of <unk>; ties share the
    best rank. </s> is ranked and <s> is not. Raises InputError for KenLM's binaries, which list no
    words.
    """
    path = Path(path)
    with ngram.open_text(path, "rb") as file:
        if not file.read(64).lstrip().startswith(b"\\data\\"):
            raise InputError(
                f"{path} is no ARPA file, and ranks need the words that one lists; give the ARPA file"
            )
    order = ngram.read_order(path)
    listed = _read_unigrams(path)
    streams = [
        [ngram.BEGIN] * bos + [w if w in listed.words else ngram.UNKNOWN for w in sentence]
        for sentence in sentences
    ]
    contexts = {
        " ".join(stream[max(0, end - size) : end])
        for stream in streams
        for end in range(1, len(stream))
        for size in range(1, order)
    }
    if order > 1:
        _read_longer(path, contexts, listed)
    unigrams = np.array(listed.unigrams)
    falling = np.sort(unigrams)[::-1]
    scored = []
    for stream in streams:
        places = [
            _rank(listed, unigrams, falling, stream, p, order) for p in range(bos, len(stream))
        ]
        scored.append(
            tuple(np.array(column) for column in zip(*places, strict=True)) or (np.zeros(0),) * 2
        )
    return scored


def _rank(
    listed: _Listed,
    unigrams: np.ndarray,
    falling: np.ndarray,
    stream: list[str],
    position: int,
    order: int,
) -> tuple[float, int]:
    """Return log10 p and the rank of one word of a stream."""
    word, weight, levels = listed.words[stream[position]], 0.0, []
    chosen = None
    for start in range(max(0, position - order + 1), position):
        context = " ".join(stream[start:position])
        ids, logs = listed.following.get(context, ((), ()))
        ids, logs = np.array(ids, int), np.array(logs, float) + weight
        levels.append((ids, logs))
        if chosen is None and (here := np.flatnonzero(ids == word)).size:
            chosen = logs[here[0]]
        weight += listed.weights.get(context, 0.0)
    if chosen is None:
        chosen = unigrams[word] + weight
    likelier, seen = 0, np.zeros(0, int)
    for ids, logs in levels:
        new = ~np.isin(ids, seen)
        likelier += int((logs[new] > chosen).sum())
        seen = np.concatenate([seen, ids[new]])
    # Words that are not listed after any of the contexts.
    likelier += int(np.searchsorted(-(falling + weight), -chosen, side="left"))
    likelier -= int((unigrams[seen] + weight > chosen).sum())
    return float(chosen), 1 + likelier


def _read_unigrams(path: Path) -> _Listed:
    """Read the words, their log10 p and their backoff weights."""
    listed = _Listed()
    for words, log10, weight in _read_lines(path, lambda order: order == 1, last=1):
        listed.weights[words] = weight
        if words != ngram.BEGIN:
            listed.words[words] = len(listed.unigrams)
            listed.unigrams.append(log10)
    if ngram.UNKNOWN not in listed.words:
        raise InputError(
            f"{path} lists no {ngram.UNKNOWN} among its 1-grams; make it with KenLM's lmplz"
        )
    return listed


def _read_longer(path: Path, contexts: set[str], listed: _Listed) -> None:
    """Add the n-grams that continue the contexts, and the contexts' backoff weights."""
    for words, log10, weight in _read_lines(path, lambda order: order > 1):
        context, _, last = words.rpartition(" ")
        if context in contexts and last in listed.words:
            ids, logs = listed.following.setdefault(context, ([], []))
            ids.append(listed.words[last])
            logs.append(log10)
        if words in contexts:
            listed.weights[words] = weight


def _read_lines(path: Path, wanted, last: int | None = None):
    """Yield the n-gram, log10 p and backoff weight of the `wanted` orders, up to order `last`."""
    order = 0
    with ngram.open_text(path) as lines:
        for number, line in enumerate(lines, 1):
            if line.startswith("\\"):
                order = int(line[1 : line.index("-")]) if line.endswith("-grams:\n") else 0
                if last is not None and order > last:
                    return
            elif order and line != "\n" and wanted(order):
                parts = line.rstrip("\n").split("\t")
                try:
                    yield parts[1], float(parts[0]), float(parts[2]) if len(parts) > 2 else 0.0
                except (IndexError, ValueError):
                    raise InputError(
                        f"{path}, line {number}: {line.rstrip()!r} is not "
                        "`log10 probability <tab> n-gram [<tab> log10 backoff]`"
                    ) from None
