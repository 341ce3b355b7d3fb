"""Ranks of words under an n-gram model: how many entries of its vocabulary are likelier there.

Of a place all longer n-grams that begin with its context are listed in the ARPA file, and every other
word has its unigram times the backoff weights on the way; so a rank takes these few and a search in
the sorted unigrams, not the whole vocabulary.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from recency.errors import InputError
from recency.scoring import ngram


@dataclass
class _Listed:
    """What an ARPA file lists of some contexts, log10."""

    words: dict[str, int] = field(default_factory=dict)  # without <s>
    unigrams: list[float] = field(default_factory=list)
    weights: dict[str, float] = field(default_factory=dict)  # of backing off, by context
    behind: dict[str, tuple[list[int], list[float]]] = field(default_factory=dict)  # by context


def score(
    path: str | Path, sentences: Sequence[Sequence[str]], bos: bool = True
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return log10 p and rank (1 the likeliest) of each word of each sentence, by an ARPA file.

    Words that it does not list are <unk>, whose probability and rank they have; of ties none is
    likelier. <s> is no word that can come, </s> is one. Raises InputError for KenLM's binaries,
    which list no words.
    """
    path = Path(path)
    with ngram.open_text(path, "rb") as file:
        if not file.read(64).lstrip().startswith(b"\\data\\"):
            raise InputError(
                f"{path} is no ARPA file, and ranks need the words that one lists; give that"
            )
    order = ngram.read_order(path)
    listed = _unigrams(path)
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
        _longer(path, contexts, listed)
    unigrams = np.array(listed.unigrams)
    falling = np.sort(unigrams)[::-1]
    found = []
    for stream in streams:
        places = [
            _place(listed, unigrams, falling, stream, p, order) for p in range(bos, len(stream))
        ]
        found.append(
            tuple(np.array(each) for each in zip(*places, strict=True)) or (np.zeros(0),) * 2
        )
    return found


def _place(
    listed: _Listed,
    unigrams: np.ndarray,
    falling: np.ndarray,
    stream: list[str],
    place: int,
    order: int,
) -> tuple[float, int]:
    """Return log10 p and the rank of one word of a stream."""
    own, weight, levels = listed.words[stream[place]], 0.0, []
    chosen = None
    for start in range(max(0, place - order + 1), place):
        context = " ".join(stream[start:place])
        ids, logs = listed.behind.get(context, ((), ()))
        ids, logs = np.array(ids, int), np.array(logs, float) + weight
        levels.append((ids, logs))
        if chosen is None and (here := np.flatnonzero(ids == own)).size:
            chosen = logs[here[0]]
        weight += listed.weights.get(context, 0.0)
    if chosen is None:
        chosen = unigrams[own] + weight
    likelier, seen = 0, np.zeros(0, int)
    for ids, logs in levels:
        new = ~np.isin(ids, seen)
        likelier += int((logs[new] > chosen).sum())
        seen = np.concatenate([seen, ids[new]])
    # Unigrams that none of the contexts lists.
    likelier += int(np.searchsorted(-(falling + weight), -chosen, side="left"))
    likelier -= int((unigrams[seen] + weight > chosen).sum())
    return float(chosen), 1 + likelier


def _unigrams(path: Path) -> _Listed:
    """Read the words, their log10 p and their backoff weights."""
    found = _Listed()
    for words, log10, weight in _lines(path, lambda order: order == 1, last=1):
        found.weights[words] = weight
        if words != ngram.BEGIN:
            found.words[words] = len(found.unigrams)
            found.unigrams.append(log10)
    if ngram.UNKNOWN not in found.words:
        raise InputError(
            f"{path} lists no {ngram.UNKNOWN} among its 1-grams; make it with KenLM's lmplz"
        )
    return found


def _longer(path: Path, contexts: set[str], found: _Listed) -> None:
    """Read what stands behind the contexts, and these contexts' own backoff weights."""
    for words, log10, weight in _lines(path, lambda order: order > 1):
        context, _, last = words.rpartition(" ")
        if context in contexts and last in found.words:
            ids, logs = found.behind.setdefault(context, ([], []))
            ids.append(found.words[last])
            logs.append(log10)
        if words in contexts:
            found.weights[words] = weight


def _lines(path: Path, wanted, last: int | None = None):
    """Yield n-gram, log10 p and backoff weight of the orders that are `wanted`, up to the `last`."""
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
