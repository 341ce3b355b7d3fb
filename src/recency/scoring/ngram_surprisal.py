"""Rule ngram_surprisal: surprisal of every word of a dataset under an n-gram model (contract 3)."""

from pathlib import Path

import numpy as np
import pandas as pd

from recency.errors import InputError
from recency.scoring import ngram, results
from recency.scoring.results import Result


def main(
    words: Path,
    arpa: Path,
    out: Path,
    ledger: Path | None = None,
    bos: bool = True,
    context: str = "item",
    unit: str = "bits",
) -> None:
    """Write word_id, surprisal_bits, corrected_bits (null), tokens (1) and context_tokens.

    `arpa` is an ARPA file or a KenLM binary of any order. Context, with <s> before it if `bos`,
    runs within an "item" or a "sentence"; context_tokens are the words of it that the model used.
    `ledger` gets the unknown words, which have the probability of <unk>.
    """
    if not ngram.is_ngram(arpa):
        raise InputError(f"{arpa} is neither an ARPA file nor a KenLM binary")
    score(pd.read_parquet(words), arpa, bos, context, unit).write(out, ledger)


def score(words: pd.DataFrame, path, bos: bool, context: str, unit: str) -> Result:
    """Score words by an n-gram model; words that it does not list get the probability of <unk>."""
    if context not in ("item", "sentence"):
        raise InputError(f"context {context!r} is neither item nor sentence")
    if context not in words:
        raise InputError(f"the table of words has no column {context} for context to run within")
    groups = list(words.groupby(context, sort=False).indices.values())
    scored = ngram.score(path, [list(words["word"].iloc[rows]) for rows in groups], bos)
    plain, seen = np.empty(len(words)), np.empty(len(words), np.int32)
    known = np.empty(len(words), bool)
    for rows, each in zip(groups, scored, strict=True):
        plain[rows], seen[rows], known[rows] = each.log10, each.context, each.known
    unknown = np.flatnonzero(~known)
    examples = list(dict.fromkeys(words["word"].iloc[unknown]))[:5]
    notes = [f"{len(unknown):,} of {len(words):,} words are unknown, such as {examples}"]
    none = np.full(len(words), np.nan)
    ones = np.ones(len(words), np.int32)
    made = results.table(words, -plain * np.log(10), none, ones, seen, unit)
    made[f"surprisal_{unit}"] = -plain * {"bits": np.log2(10), "nats": np.log(10)}.get(unit, 1.0)
    issues = [(int(row), ngram.UNKNOWN, "unknown", "probability of <unk>") for row in unknown]
    return Result(made, results.ledger(words, issues), 0, 0.0, notes)
