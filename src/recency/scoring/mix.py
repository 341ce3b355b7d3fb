"""LMs interpolated word by word: what each gives is read from its own files, whatever its tokens are.

p(word) = Σ_k λ_k p_k(word). Of an LM of sub-words p_k is the product of the word's tokens, so that LMs
of any tokens go together, and n-grams with them. An LM that lists a word as unknown has the
probability of all unknown words for it, which is none of the word's: it counts as 0 where another LM
knows the word.
"""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from recency import history
from recency.errors import InputError
from recency.files import atomic
from recency.scoring import cache as caches
from recency.scoring import results
from recency.scoring.interpolation import best_shares, mixed
from recency.scoring.plausible import require_plausible
from recency.scoring.results import UNKNOWN

IMPOSSIBLE = "no LM with a share gives it a probability"
#: What a sentence ends with in texts, as KenLM writes it.
END = "</s>"


def of_words(
    words: pd.DataFrame,
    lms: Sequence[str],
    scores: Iterable[str | Path],
    ledgers: Iterable[str | Path],
    cache: Mapping | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, pd.DataFrame]:
    """Return nats and corrected nats (LMs, words), whether an LM has no p of a word, and the ledgers.

    Context of the cache runs within an item. Null surprisals are NaN.
    """
    tables = [pd.read_parquet(path) for path in scores]
    for lm, table in zip(lms, tables, strict=True):
        if table.attrs.get("masked"):
            raise InputError(
                f"{lm} is a masked LM: what it gives a word is no share of what could stand there, and mixes "
                "with nothing; take it out of `interpolate`"
            )
        if table.word_id.tolist() != words.word_id.tolist():
            raise InputError(
                f"{lm} scored {len(table):,} words, there are {len(words):,}: not the same words"
            )
    lists = [pd.read_csv(path, dtype={"item": str}, keep_default_na=False) for path in ledgers]
    lists = [each.assign(lm=lm) for lm, each in zip(lms, lists, strict=True)]
    bits = np.log(2)
    plain = np.array([table.surprisal_bits.to_numpy(float) for table in tables]) * bits
    corrected = np.array([table.corrected_bits.to_numpy(float) for table in tables]) * bits
    unknown = np.zeros(plain.shape, bool)
    for own, ledger in zip(unknown, lists, strict=True):
        rows = ledger[ledger.reason.isin(UNKNOWN)].word_id
        own[words.word_id.isin(rows)] = True
    if cache is not None:
        items = words.groupby("item", sort=False)["word"]
        nats = np.concatenate([caches.score(own.tolist(), **cache) for _, own in items])
        order = np.concatenate(list(items.indices.values()))
        back = np.empty(len(words))
        back[order] = nats
        plain, corrected = np.vstack([plain, back]), np.vstack([corrected, back])
        unknown = np.vstack([unknown, np.zeros(len(words), bool)])
    return plain, corrected, unknown, pd.concat(lists, ignore_index=True)


def of_text(
    text: str | Path,
    lms: Sequence[str],
    scores: Iterable[str | Path],
    unknown_as: Sequence[str | None],
    cache: Mapping | None,
) -> tuple[np.ndarray, np.ndarray, int]:
    """Return nats (LMs, tokens) of a text, whether an LM has no p of a token, and all LMs' parameters.

    `unknown_as` is how an LM of words writes those beyond its vocabulary, as which the text itself may
    write them; None of LMs of other tokens. The cache runs on from sentence to sentence.
    """
    tables = [pd.read_parquet(path) for path in scores]
    sizes = {lm: len(table) for lm, table in zip(lms, tables, strict=True)}
    words = _written(text) if cache is not None or any(unknown_as) else None
    sizes |= {"the text": len(words)} if words is not None else {}
    if len(set(sizes.values())) > 1:
        found = ", ".join(f"{lm} {size:,}" for lm, size in sizes.items())
        raise InputError(f"LMs of other words are not interpolated over a text: {found}")
    ids = [table.token_id.to_numpy() for table in tables if (table.token_id >= 0).all()]
    if words is None and any((each != ids[0]).any() for each in ids):
        raise InputError(f"{', '.join(lms)}: other tokens of the same text are not interpolated")
    nats = np.array([table.nats.to_numpy() for table in tables])
    unknown = np.zeros(nats.shape, bool)
    if words is not None:
        for own, table, sign in zip(unknown, tables, unknown_as, strict=True):
            own[:] = ~table.known.to_numpy() & (words != sign)
    if cache is not None:
        nats = np.vstack([nats, caches.score(words.tolist(), **cache)])
        unknown = np.vstack([unknown, np.zeros(nats.shape[1], bool)])
    return nats, unknown, sum(int(table.parameters.iloc[0]) for table in tables)


def _written(text: str | Path) -> np.ndarray:
    """Return a text's words, the end of each sentence with them."""
    documents = pd.read_parquet(text, columns=["text"])["text"]
    return np.array([word for each in documents for word in (*each.split(), END)], object)


def without_unknown(nats: np.ndarray, unknown: np.ndarray) -> np.ndarray:
    """Return nats, infinite where an LM does not know a word that another one knows."""
    known_to_others = (~unknown & np.isfinite(nats)).any(0)
    return np.where(unknown & known_to_others & ~np.isnan(nats), np.inf, nats)


def shares(
    out: str | Path,
    lms: Sequence[str],
    scores: Sequence[str | Path] = (),
    text: str | Path | None = None,
    words: str | Path | None = None,
    ledgers: Sequence[str | Path] = (),
    unknown_as: Sequence[str | None] = (),
    cache: Mapping | None = None,
    given: Sequence[float] | None = None,
    histories: Sequence[str | Path] = (),
) -> None:
    """Write each LM's share, the cache's last: as `given`, or by EM on the words or the text scored.

    `histories` are files of LMs whose history is known (recency.history). Raises InputError where one of
    these was trained on the text.
    """
    if held_out := words or text:
        named = f"the held-out text {Path(held_out).parent.name}"
        history.require_unseen(
            held_out, named, {Path(each).parent.name: each for each in histories}
        )
    if given is not None:
        found, size = np.array(given, float), 0
    else:
        if words is not None:
            table = pd.read_parquet(words)
            nats, _, unknown, _ = of_words(table, lms, scores, ledgers, cache)
        else:
            nats, unknown, _ = of_text(text, lms, scores, unknown_as, cache)
        nats = without_unknown(nats, unknown)[:, ~np.isnan(nats).any(0)]
        found, size = best_shares(nats), nats.shape[1]
    names = [*lms, *(["cache"] if cache is not None else [])]
    facts = {"shares": dict(zip(names, found.tolist(), strict=True)), "held_out_words": size}
    print(facts, file=sys.stderr)
    with atomic(out) as part:
        part.write_text(json.dumps(facts, indent=1) + "\n")


def surprisal(
    words: str | Path,
    scores: Sequence[str | Path],
    ledgers: Sequence[str | Path],
    shares: str | Path,
    out: str | Path,
    ledger: str | Path,
    lms: Sequence[str],
    cache: Mapping | None = None,
    lm: str = "",
    dataset: str = "",
    accept: Sequence[str] = (),
) -> None:
    """Write contract 3 of the mix: null where one of the LMs has no value; `context_tokens` is 0, not known.

    Corrected values mix those of the LMs, and are null unless all have them. `lm` and `dataset` are the
    mix's names in messages, `accept` the checks that its surprisal may fail.
    """
    table, share = pd.read_parquet(words), read_shares(shares)
    plain, corrected, unknown, said = of_words(table, lms, scores, ledgers, cache)
    made = [mixed(without_unknown(each, unknown), share) for each in (plain, corrected)]
    impossible = np.isinf(made[0])
    if impossible.any():
        first = table.word[impossible].iloc[0]
        raise InputError(
            f"{int(impossible.sum()):,} words, {first!r} first: {IMPOSSIBLE}; put an LM into the mix "
            "that knows all words"
        )
    alone = unknown & (unknown.sum(0) < len(unknown))
    left_out = [
        (row, lm, "unknown", f"p = 0 of {lm}, which has it as unknown")
        for lm, own in zip(lms, alone)
        for row in np.flatnonzero(own)
    ]
    said = said[~said.reason.isin(UNKNOWN)]
    said = said.assign(reason=said.lm + ": " + said.reason)[results.LEDGER]
    rows = [part for part in (said, results.ledger(table, left_out)) if len(part)]
    none, one = np.zeros(len(table)), np.ones(len(table))
    kept = pd.concat(rows, ignore_index=True) if rows else results.ledger(table, [])
    notes = [f"{lm}: {int(own.sum()):,} words unknown" for lm, own in zip(lms, unknown)]
    result = results.Result(results.table(table, *made, one, none), kept, notes=notes)
    require_plausible(table, result, lm=lm, dataset=dataset, accept=accept)
    result.write(out, ledger)


def read_shares(path: str | Path) -> np.ndarray:
    """Return the shares of a mix, the cache's last."""
    return np.array(list(json.loads(Path(path).read_text())["shares"].values()))


def words_of(text: str | Path, out: str | Path) -> None:
    """Write a corpus's words as those of a dataset: a document an item, a line a sentence."""
    from recency.reading.contracts import word_table

    items, sentences, words, number = [], [], [], 0
    for document, content in enumerate(pd.read_parquet(text, columns=["text"])["text"], 1):
        for line in content.split("\n"):
            own = line.split()
            number += bool(own)
            items += [str(document)] * len(own)
            sentences += [number] * len(own)
            words += own
    if not words:
        raise InputError(f"{text} has no words to weigh LMs on")
    with atomic(out) as part:
        word_table(items, sentences, words).to_parquet(part, index=False, compression="zstd")
