"""Rule ngram_surprisal: score the words of a dataset with an n-gram model (contract 3)."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from recency.errors import InputError
from recency.scoring import foils, ngram, plausible, results
from recency.scoring.results import Result
from recency.scoring.word_pieces import split_word


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
        How words are normalised or split (recency.scoring.word_pieces). The surprisals of a word's
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
