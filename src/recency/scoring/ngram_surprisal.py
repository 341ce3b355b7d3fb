"""Rule ngram_surprisal: surprisal of every word of a dataset under an n-gram model (contract 3)."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from recency.errors import InputError
from recency.scoring import foils, ngram, plausible, results
from recency.scoring.results import Result
from recency.scoring.word_pieces import pieces


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

    `arpa` is an ARPA file or a KenLM binary of any order. Context, with <s> before it if `bos`,
    runs within an "item" or a "sentence"; context_tokens are the words of it that the model used:
    the n-gram that matched, less one. `text_rule` is what of a word is looked up
    (recency.scoring.word_pieces); `tokens` is 1, but for words that it splits, whose parts are
    summed. Implausible surprisal of a dataset is refused (`plausible.require_plausible`, with the
    names `lm` and `dataset` and what the config accepts). With
    `require_unseen` so are texts that the model was trained on. `ledger` gets the unknown words, which have the probability of <unk>. Words with foils
    get these foils' surprisal as well (recency.scoring.foils).
    """
    if not ngram.is_ngram(arpa):
        raise InputError(f"{arpa} is neither an ARPA file nor a KenLM binary")
    if require_unseen:
        plausible.require_unseen(words, dataset, lm, arpa, accept)
    table = pd.read_parquet(words)
    result = score(table, arpa, bos, context, unit, text_rule)
    if foils.FOIL in table:
        result.table[foils.COLUMN] = foils.surprisal(
            table, lambda made: score(made, arpa, bos, context, "bits", text_rule).table
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
    """Score words by an n-gram model; words that it does not list get the probability of <unk>."""
    if context not in ("item", "sentence"):
        raise InputError(f"within {context!r} is neither item nor sentence")
    if context not in words:
        raise InputError(f"the table of words has no column {context} for context to run within")
    groups = list(words.groupby(context, sort=False).indices.values())
    parts = [pieces(word, text_rule) for word in words["word"]]
    streams = [[part for row in rows for part in parts[row]] for rows in groups]
    scored = ngram.score(path, streams, bos)
    plain, tokens = np.zeros(len(words)), np.array([len(each) for each in parts], np.int32)
    seen = np.empty(len(words), np.int32)
    matched, unknown = Counter(), []
    for rows, each in zip(groups, scored, strict=True):
        place = 0
        for row in rows:
            of_word = slice(place, place + tokens[row])
            for log10 in each.log10[of_word]:
                plain[row] += log10
            seen[row] = each.context[place]
            unknown += [int(row)] * (not all(each.known[of_word]))
            place += tokens[row]
        matched.update(each.context)
    unknown = sorted(unknown)
    examples = list(dict.fromkeys(words["word"].iloc[unknown]))[:5]
    notes = [f"{len(unknown):,} of {len(words):,} words are unknown, such as {examples}"]
    orders = [f"{count:,} of order {n + 1}" for n, count in sorted(matched.items())]
    notes.append(f"the longest n-gram that the model lists: {', '.join(orders)}")
    none = np.full(len(words), np.nan)
    made = results.table(words, -plain * np.log(10), none, tokens, seen, unit)
    made[f"surprisal_{unit}"] = -plain * {"bits": np.log2(10), "nats": np.log(10)}.get(unit, 1.0)
    issues = [(row, ngram.UNKNOWN, "unknown", "probability of <unk>") for row in unknown]
    return Result(made, results.ledger(words, issues), 0, 0.0, notes)
