"""Rule ngram_surprisal: score the words of a dataset with an n-gram model (contract 3).

Ranks of words under an n-gram model, by probability within its vocabulary.

After a context, only the listed n-grams with that context have probabilities of their own; all
other words have their unigram probability times the backoff weights. A rank therefore needs only
those n-grams and a search in the sorted unigrams.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from recency.errors import InputError
from recency.scoring import foils, ngram, plausible, results
from recency.scoring.ngram import split_word
from recency.scoring.results import Result


def main(
    words: Path,
    arpa: Path,
    out: Path,
    ledger: Path | None = None,
    bos: bool = True,
    context: str = "item",
    unit: str = "bits",
    text_rule: str = "displayed",
    lm: str = "",
    dataset: str = "",
    accept: Sequence[str] = (),
    require_unseen: bool = False,
) -> None:
    """Write word_id, surprisal_bits, corrected_bits (null), tokens and context_tokens.

    Parameters
    ----------
    words, out, ledger : path
        Contract 1; contract 3; the unknown words, which get the probability of <unk>. Words with
        foils also get the foils' surprisal (recency.scoring.foils).
    arpa : path
        An ARPA file, a KenLM binary or a CDLM.
    bos : bool
        Whether <s> precedes the context.
    context : {"item", "sentence"}
        The unit of context. `context_tokens` is the number of context words in the longest listed
        n-gram.
    unit : {"bits", "nats", "log10"}
        Unit of surprisal.
    text_rule : str
        How words are normalised or split (recency.scoring.ngram). The surprisals of a word's
        parts are summed, and `tokens` is their number.
    lm, dataset, accept
        For `plausible.require_plausible` and `plausible.require_unseen`.
    require_unseen : bool
        Whether to refuse texts that the model was trained on.
    """
    if not ngram.is_ngram(arpa):
        raise InputError(f"{arpa} is neither an ARPA file nor a KenLM binary")
    if require_unseen:
        plausible.require_unseen(words, dataset, lm, arpa, accept)
    table = pd.read_parquet(words)
    result = score(table, arpa, bos, context, unit, text_rule)
    if foils.FOIL in table:
        result.table[foils.COLUMN] = foils.surprisal(
            table, lambda texts: score(texts, arpa, bos, context, "bits", text_rule).table
        )
    plausible.require_plausible(table, result, lm=lm, dataset=dataset, accept=accept)
    result.write(out, ledger)


def score(
    words: pd.DataFrame,
    path: str | Path,
    bos: bool,
    context: str,
    unit: str,
    text_rule: str = "displayed",
) -> Result:
    """Score words with an n-gram model; unknown words get the probability of <unk>."""
    if context not in ("item", "sentence"):
        raise InputError(f"within: {context!r} is neither item nor sentence")
    if context not in words:
        raise InputError(f"the table of words has no column {context}, the unit of context")
    groups = list(words.groupby(context, sort=False).indices.values())
    parts = [split_word(word, text_rule) for word in words["word"]]
    streams = [[part for row in rows for part in parts[row]] for rows in groups]
    scored = ngram.score(path, streams, bos)
    plain, tokens = np.zeros(len(words)), np.array([len(part) for part in parts], np.int32)
    seen = np.empty(len(words), np.int32)
    matched, unknown = Counter(), []
    for rows, stream in zip(groups, scored, strict=True):
        start = 0
        for row in rows:
            of_word = slice(start, start + tokens[row])
            for log10 in stream.log10[of_word]:
                plain[row] += log10
            seen[row] = stream.context[start]
            unknown += [int(row)] * (not all(stream.known[of_word]))
            start += tokens[row]
        matched.update(stream.context)
    unknown = sorted(unknown)
    examples = list(dict.fromkeys(words["word"].iloc[unknown]))[:5]
    notes = [f"{len(unknown):,} of {len(words):,} words are unknown, such as {examples}"]
    orders = [f"{count:,} of order {n + 1}" for n, count in sorted(matched.items())]
    notes.append(f"the longest n-gram that the model lists: {', '.join(orders)}")
    none = np.full(len(words), np.nan)
    scores = results.table(words, -plain * np.log(10), none, tokens, seen, unit)
    scores[f"surprisal_{unit}"] = -plain * {"bits": np.log2(10), "nats": np.log(10)}.get(unit, 1.0)
    issues = [(row, ngram.UNKNOWN, "unknown", "probability of <unk>") for row in unknown]
    return Result(scores, results.ledger(words, issues), 0, 0.0, notes)


@dataclass
class _Listed:
    """The entries of an ARPA file for some contexts, log10."""

    words: dict[str, int] = field(default_factory=dict)  # without <s>
    unigrams: list[float] = field(default_factory=list)
    weights: dict[str, float] = field(default_factory=dict)  # backoff weights by context
    following: dict[str, tuple[list[int], list[float]]] = field(default_factory=dict)  # by context


def ranks_of(
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
    listed = _Listed()
    streams, contexts = None, set()
    for size, block in ngram.read_blocks(path):
        if size == 1:
            _add_unigrams(path, block, listed)
            continue
        if streams is None:  # all 1-grams are read
            streams = ngram.streams_of(path, listed.words, sentences, bos)
            contexts = _contexts_of(streams, order)
        _add_longer(path, block, contexts, listed)
    if streams is None:
        streams = ngram.streams_of(path, listed.words, sentences, bos)
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


def _contexts_of(streams: Sequence[Sequence[str]], order: int) -> set[bytes]:
    """Return the contexts of all words but the first, of 1 to n - 1 words."""
    return {
        " ".join(stream[max(0, end - size) : end]).encode()
        for stream in streams
        for end in range(1, len(stream))
        for size in range(1, order)
    }


def _add_unigrams(path: Path, block: pa.Table, listed: _Listed) -> None:
    """Add words, their log10 p and their backoff weights."""
    for row in block.to_pylist():
        word = row["ngram"].decode()
        log10, listed.weights[word] = ngram.read_entry(path, row)
        if word != ngram.BEGIN:
            listed.words[word] = len(listed.unigrams)
            listed.unigrams.append(log10)


def _add_longer(path: Path, block: pa.Table, contexts: set[bytes], listed: _Listed) -> None:
    """Add the n-grams that continue the contexts, and the contexts' backoff weights."""
    keys = block["ngram"].to_pylist()
    before = [key.rpartition(b" ")[0] for key in keys]
    chosen = [
        place
        for place, (context, key) in enumerate(zip(before, keys, strict=True))
        if context in contexts or key in contexts
    ]
    for place, row in zip(chosen, block.take(chosen).to_pylist(), strict=True):
        log10, weight = ngram.read_entry(path, row)
        context, key = before[place], keys[place]
        last = key[len(context) + 1 :].decode()
        if context in contexts and last in listed.words:
            ids, logs = listed.following.setdefault(context.decode(), ([], []))
            ids.append(listed.words[last])
            logs.append(log10)
        if key in contexts:
            listed.weights[key.decode()] = weight
