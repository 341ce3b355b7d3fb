"""Interpolate LMs word by word, from the files of their scores.

p(word) = Σ_k λ_k p_k(word). For a subword LM, p_k is the product over the word's tokens, so that
LMs with different tokenizers and n-gram models can be mixed. For an unknown word, an LM gives the
probability of all unknown words together; it counts as 0 if another LM knows the word.

Interpolate LMs: p(word) = Σ_k λ_k p_k(word), with maximum-likelihood shares λ on held-out text.

The optimum is that of EM (Jelinek & Mercer 1980). EM converges slowly where an LM is redundant, as
5-grams are next to the same 5-grams with a cache, because its share then falls as 1 / steps. The
shares are therefore estimated by Newton steps under λ ≥ 0 (Kim, Carbonetto, Stephens & Anitescu
2020).

Cache language model: p(word) is its share of the last words (Kuhn & De Mori 1990).
"""

import json
import sys
from collections import Counter, deque
from collections.abc import Hashable, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from readingtimes.files import atomic
from recency import history
from recency.errors import InputError
from recency.scoring import results
from recency.scoring.plausible import require_plausible
from recency.scoring.results import UNKNOWN

#: The search ends when better shares can gain at most CLOSE nats per word, or after STEPS steps.
CLOSE = 1e-12
STEPS = 200
#: Makes the problem definite where LMs are identical.
RIDGE = 1e-12
#: Least share of an LM: it may be the only one with a word of another text in its vocabulary.
LEAST = 1e-6


def estimate_shares(nats: np.ndarray) -> np.ndarray:
    """Estimate the shares λ (LMs,), which are positive and sum to 1.

    `nats` (LMs, words) is the surprisal of held-out text. The likelihood is concave in λ, so the
    optimum is global. Words with p = 0 under every LM are ignored.
    """
    nats = nats[:, np.isfinite(nats).any(0)]
    ratios = np.exp(nats.min(0) - nats)  # p of each LM divided by the largest
    shares = np.full(len(nats), 1 / len(nats))
    for _ in range(STEPS):
        parts = ratios / (shares @ ratios)
        slopes = parts.mean(1)  # gradient of the mean log p: 1 at the optimum, less where λ = 0
        if slopes.max() - 1 < CLOSE:
            break
        shares, before = _newton_step(ratios, shares, parts, slopes), shares
        if (shares == before).all():
            break
    shares = np.maximum(shares, LEAST)
    return shares / shares.sum()


def _newton_step(ratios, shares, parts, slopes) -> np.ndarray:
    """Return the shares after one Newton step, halved until the likelihood increases."""
    from scipy.linalg import solve_triangular
    from scipy.optimize import nnls

    curvature = parts @ parts.T / parts.shape[1]
    root = np.linalg.cholesky(curvature + RIDGE * np.eye(len(shares)))
    wanted = curvature @ shares + slopes - 1  # the sum of the shares is a penalty
    target, _ = nnls(root.T, solve_triangular(root, wanted, lower=True))
    length = 1.0
    while length > 1e-9:
        there = shares + length * (target - shares)
        there /= there.sum()
        with np.errstate(divide="ignore"):
            if np.log(there @ ratios).mean() > np.log(shares @ ratios).mean():
                return there
        length /= 2
    return shares


def mix_nats(nats: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return the surprisal (words,) of the interpolated LM in nats, infinite where p = 0."""
    least = nats.min(0)
    least[np.isinf(least)] = 0.0
    with np.errstate(divide="ignore"):
        return least - np.log(shares @ np.exp(least - nats))


IMPOSSIBLE = "no LM with a share gives it a probability"
#: End of a sentence, as KenLM writes it.
END = "</s>"


def read_word_scores(
    words: pd.DataFrame,
    lms: Sequence[str],
    scores: Iterable[str | Path],
    ledgers: Iterable[str | Path],
    cache: Mapping | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, pd.DataFrame]:
    """Read the scores of a dataset's words.

    Returns
    -------
    ndarray (LMs, words)
        Surprisal in nats, the cache's last; NaN for null. The cache's context is the item.
    ndarray (LMs, words)
        Corrected surprisal in nats.
    ndarray (LMs, words) of bool
        Whether a word is unknown to an LM.
    DataFrame
        The ledgers.
    """
    tables = [pd.read_parquet(path) for path in scores]
    for lm, table in zip(lms, tables, strict=True):
        if table.attrs.get("masked"):
            raise InputError(
                f"{lm} is a masked LM, whose scores are not a distribution over next words and cannot be "
                "interpolated; take it out of `interpolate`"
            )
        if table.word_id.tolist() != words.word_id.tolist():
            raise InputError(
                f"{lm} scored {len(table):,} words, there are {len(words):,}: not the same words"
            )
    lists = [pd.read_csv(path, dtype={"item": str}, keep_default_na=False) for path in ledgers]
    lists = [ledger.assign(lm=lm) for lm, ledger in zip(lms, lists, strict=True)]
    bits = np.log(2)
    plain = np.array([table.surprisal_bits.to_numpy(float) for table in tables]) * bits
    corrected = np.array([table.corrected_bits.to_numpy(float) for table in tables]) * bits
    unknown = np.zeros(plain.shape, bool)
    for lacking, ledger in zip(unknown, lists, strict=True):
        rows = ledger[ledger.reason.isin(UNKNOWN)].word_id
        lacking[words.word_id.isin(rows)] = True
    if cache is not None:
        items = words.groupby("item", sort=False)["word"]
        nats = np.concatenate([score(text.tolist(), **cache) for _, text in items])
        order = np.concatenate(list(items.indices.values()))
        back = np.empty(len(words))
        back[order] = nats
        plain, corrected = np.vstack([plain, back]), np.vstack([corrected, back])
        unknown = np.vstack([unknown, np.zeros(len(words), bool)])
    return plain, corrected, unknown, pd.concat(lists, ignore_index=True)


def read_text_scores(
    text: str | Path,
    lms: Sequence[str],
    scores: Iterable[str | Path],
    unknown_as: Sequence[str | None],
    cache: Mapping | None,
) -> tuple[np.ndarray, np.ndarray, int]:
    """Read the scores of a text's tokens.

    `unknown_as` is each LM's string for unknown words, which may occur in the text itself; None for
    LMs that are not of words. The cache's context crosses sentence boundaries.

    Returns
    -------
    ndarray (LMs, tokens)
        Surprisal in nats, the cache's last.
    ndarray (LMs, tokens) of bool
        Whether a token is unknown to an LM.
    int
        Number of parameters of all LMs together.
    """
    tables = [pd.read_parquet(path) for path in scores]
    sizes = {lm: len(table) for lm, table in zip(lms, tables, strict=True)}
    words = read_words(text) if cache is not None or any(unknown_as) else None
    sizes |= {"the text": len(words)} if words is not None else {}
    if len(set(sizes.values())) > 1:
        sizes_shown = ", ".join(f"{lm} {size:,}" for lm, size in sizes.items())
        raise InputError(
            f"LMs with different words cannot be interpolated over a text: {sizes_shown}"
        )
    ids = [table.token_id.to_numpy() for table in tables if (table.token_id >= 0).all()]
    if words is None and any((part != ids[0]).any() for part in ids):
        raise InputError(f"{', '.join(lms)}: LMs with different tokens cannot be interpolated")
    nats = np.array([table.nats.to_numpy() for table in tables])
    signs = unknown_as or [None] * len(tables)
    unknown = np.array(
        [~is_known(table, words, sign) for table, sign in zip(tables, signs, strict=True)]
    )
    if cache is not None:
        nats = np.vstack([nats, score(words.tolist(), **cache)])
        unknown = np.vstack([unknown, np.zeros(nats.shape[1], bool)])
    return nats, unknown, sum(int(table.parameters.iloc[0]) for table in tables)


def read_words(text: str | Path) -> np.ndarray:
    """Return a text's words, with an END after each document."""
    documents = pd.read_parquet(text, columns=["text"])["text"]
    return np.array([word for document in documents for word in (*document.split(), END)], object)


def is_known(table: pd.DataFrame, words: np.ndarray | None, sign: str | None) -> np.ndarray:
    """Return whether an LM knows each word of its scores of a text (words,).

    `sign` is the LM's token for unknown words; where it is a word of the text itself, it is known.
    """
    known = table.known.to_numpy(bool)
    return known if sign is None or words is None else known | (words == sign)


def without_unknown(nats: np.ndarray, unknown: np.ndarray) -> np.ndarray:
    """Set the surprisal of words that only another LM knows to infinity."""
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
    """Write each LM's share, the cache's last: as `given`, or estimated on held-out words or text.

    `histories` are files of LMs with a recorded history (recency.history). Raises InputError if one
    of these was trained on the held-out text.
    """
    if held_out := words or text:
        named = f"the held-out text {Path(held_out).parent.name}"
        history.require_unseen(
            held_out, named, {Path(path).parent.name: path for path in histories}
        )
    if given is not None:
        fitted, size = np.array(given, float), 0
    else:
        if words is not None:
            table = pd.read_parquet(words)
            nats, _, unknown, _ = read_word_scores(table, lms, scores, ledgers, cache)
        else:
            nats, unknown, _ = read_text_scores(text, lms, scores, unknown_as, cache)
        nats = without_unknown(nats, unknown)[:, ~np.isnan(nats).any(0)]
        fitted, size = estimate_shares(nats), nats.shape[1]
    names = [*lms, *(["cache"] if cache is not None else [])]
    facts = {"shares": dict(zip(names, fitted.tolist(), strict=True)), "held_out_words": size}
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
    """Write contract 3 of the mix, null where an LM has no value; `context_tokens` is 0 (unknown).

    Corrected values are mixed in the same way. `lm` and `dataset` are names in messages, and
    `accept` lists the checks that the surprisal may fail.
    """
    table, share = pd.read_parquet(words), read_shares(shares)
    plain, corrected, unknown, listed = read_word_scores(table, lms, scores, ledgers, cache)
    columns = [mix_nats(without_unknown(nats, unknown), share) for nats in (plain, corrected)]
    impossible = np.isinf(columns[0])
    if impossible.any():
        first = table.word[impossible].iloc[0]
        raise InputError(
            f"{int(impossible.sum()):,} words, {first!r} first: {IMPOSSIBLE}; put an LM into the mix "
            "that knows all words"
        )
    known_elsewhere = unknown & (unknown.sum(0) < len(unknown))
    left_out = [
        (row, lm, "unknown", f"p = 0 for {lm}, to which it is unknown")
        for lm, lacking in zip(lms, known_elsewhere)
        for row in np.flatnonzero(lacking)
    ]
    listed = listed[~listed.reason.isin(UNKNOWN)]
    listed = listed.assign(reason=listed.lm + ": " + listed.reason)[results.LEDGER]
    rows = [part for part in (listed, results.ledger(table, left_out)) if len(part)]
    none, one = np.zeros(len(table)), np.ones(len(table))
    kept = pd.concat(rows, ignore_index=True) if rows else results.ledger(table, [])
    notes = [f"{lm}: {int(lacking.sum()):,} words unknown" for lm, lacking in zip(lms, unknown)]
    result = results.Result(results.table(table, *columns, one, none), kept, notes=notes)
    require_plausible(table, result, lm=lm, dataset=dataset, accept=accept)
    result.write(out, ledger)


def read_shares(path: str | Path) -> np.ndarray:
    """Return the shares of a mix, the cache's last."""
    return np.array(list(json.loads(Path(path).read_text())["shares"].values()))


def write_words(text: str | Path, out: str | Path) -> None:
    """Write a corpus's words as a dataset; documents are items and lines are sentences."""
    from readingtimes.contracts import word_table

    items, sentences, words, number = [], [], [], 0
    for document, content in enumerate(pd.read_parquet(text, columns=["text"])["text"], 1):
        for line in content.split("\n"):
            parts = line.split()
            number += bool(parts)
            items += [str(document)] * len(parts)
            sentences += [number] * len(parts)
            words += parts
    if not words:
        raise InputError(f"{text} has no words to estimate shares on")
    with atomic(out) as part:
        word_table(items, sentences, words).to_parquet(part, index=False, compression="zstd")


WORDS = 500  # reproduces the thesis's Penn Treebank perplexities of KN2, KN3 and KN5 (Table 4.2)


def score(text: Sequence[Hashable], words: int = WORDS) -> np.ndarray:
    """Return the surprisal of each word in nats, infinite if it is not among the last `words`.

    A cache is useful only interpolated with another LM, since most words are not in it.
    """
    last: deque[Hashable] = deque()
    counts: Counter[Hashable] = Counter()
    shares = np.zeros(len(text))
    for position, word in enumerate(text):
        shares[position] = counts[word] / max(1, len(last))
        last.append(word)
        counts[word] += 1
        if len(last) > words:
            counts[last.popleft()] -= 1
    with np.errstate(divide="ignore"):
        return -np.log(shares)
