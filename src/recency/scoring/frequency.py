"""Rule frequency_surprisal: compute unigram surprisal from a list of counts (contract 3)."""

import json
import sys
import unicodedata
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from recency.errors import InputError
from recency.scoring import alignment, results
from recency.scoring import tokenizer as tokenizer_files
from recency.scoring.plausible import require_plausible

#: Normalisations of displayed and listed words before they are compared.
STEPS = ("case", "punctuation", "apostrophe")


def main(
    words: Path,
    counts: Path,
    out: Path,
    ledger: Path | None = None,
    tokenizer: Path | None = None,
    columns: Sequence[str] = ("Word", "FREQcount"),
    steps: Sequence[str] = ("case", "punctuation", "apostrophe"),
    add: float = 1.0,
    unit: str = "bits",
    lm: str = "",
    dataset: str = "",
    accept: Sequence[str] = (),
) -> None:
    """Write word_id, surprisal_bits, corrected_bits (null), tokens and context_tokens (0).

    `counts` is a list of words (CSV or TSV with the `columns` word and count, such as SUBTLEX-US),
    or, with a `tokenizer`, counts of tokens: a list with the `columns` token id and count (such as
    the Pile's), or a token stream of this workflow (.bin, with a .json of the same name). A word's
    probability is (count + add) / (N + add·V), where V is the number of listed types plus one; with
    a tokenizer, it is the product over the word's tokens. `ledger` gets the unlisted words.
    `plausible.require_plausible` refuses a list of another language; `lm`, `dataset` and `accept`
    are its arguments.
    """
    table = pd.read_parquet(words)
    if tokenizer is None:
        listed = read_words(counts, columns, steps, add)
        result = score_words(table, listed, steps, unit)
    else:
        result = score_tokens(table, read_tokens(counts, columns), tokenizer, add, unit)
    require_plausible(table, result, lm=lm, dataset=dataset, accept=accept)
    result.write(out, ledger)


def lookup_key(word: str, steps: Sequence[str]) -> str:
    """Return the normalised word for look-up; the word itself if nothing would remain."""
    if unknown := set(steps) - set(STEPS):
        raise InputError(f"frequency list: step {min(unknown)!r} is none of {', '.join(STEPS)}")
    short = word.replace("\u2019", "'") if "apostrophe" in steps else word
    if "punctuation" in steps:
        kept = [n for n, char in enumerate(short) if unicodedata.category(char)[0] not in "PSZ"]
        short = short[kept[0] : kept[-1] + 1] if kept else short
    return short.casefold() if "case" in steps else short


def read_list(path: Path, columns: Sequence[str]) -> tuple[pd.Series, pd.Series]:
    """Return the entries (text) and the counts of a list."""
    frame = pd.read_csv(path, sep=None, engine="python", keep_default_na=False, dtype=str)
    missing = [column for column in columns if column not in frame.columns]
    if missing:
        raise InputError(
            f"{path}: no column {missing[0]}; there are {', '.join(frame.columns)}. Name the columns of "
            "entries and counts in `columns`"
        )
    short = frame.iloc[:, 1:].isna().all(axis=1)  # SUBTLEX-US ends with a line of underscores
    if short.any():
        print(f"{path}: {short.sum():,} lines have one field and are left out", file=sys.stderr)
        frame = frame[~short]
    entries, text = (frame[column] for column in columns)
    count = pd.to_numeric(text, errors="coerce")
    if not (count >= 0).all():
        row = int(np.flatnonzero(~(count >= 0))[0])
        raise InputError(f"{path}, row {row + 2}: {text[row]!r} is no count")
    return entries, count


def read_words(
    path: Path, columns: Sequence[str], steps: Sequence[str], add: float
) -> dict[str | None, float]:
    """Return word → log probability (nats); the key None is for unlisted words."""
    word, count = read_list(path, columns)
    summed = count.groupby([lookup_key(shown, steps) for shown in word]).sum()
    total = np.log(summed.sum() + add * (len(summed) + 1))
    with np.errstate(divide="ignore"):
        listed = dict(zip(summed.index, np.log(summed.to_numpy() + add) - total, strict=True))
        return listed | {None: float(np.log(add) - total)}


def score_words(
    table: pd.DataFrame, listed: dict[str | None, float], steps: Sequence[str], unit: str
) -> results.Result:
    """Score words by a list of words; unlisted words go to the ledger."""
    keys = [lookup_key(word, steps) for word in table["word"]]
    unknown = [row for row, entry in enumerate(keys) if entry not in listed]
    log = np.array([listed.get(entry, listed[None]) for entry in keys])
    issues = [(row, keys[row], "not in the list", "count 0") for row in unknown]
    return _build_result(table, -log, np.ones(len(table)), issues, unit)


def read_tokens(path: Path, columns: Sequence[str]) -> np.ndarray:
    """Return the count of each token of a vocabulary, 0 for unlisted tokens."""
    path = Path(path)
    if path.suffix != ".bin":
        number, count = read_list(path, columns)
        number = pd.to_numeric(number, errors="coerce")
        if not (number >= 0).all() or (number % 1 != 0).any() or number.duplicated().any():
            raise InputError(f"{path}: column {columns[0]} is not one of token ids, each once")
        counts = np.zeros(int(number.max()) + 1)
        counts[number.to_numpy(int)] = count
        return counts
    info = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    stream = np.memmap(path, dtype=np.dtype(info["dtype"]), mode="r")
    counts = np.zeros(info["vocabulary"], np.int64)
    for start in range(0, len(stream), 1 << 24):
        block = np.bincount(stream[start : start + (1 << 24)], minlength=len(counts))
        if len(block) > len(counts):
            raise InputError(f"{path}: a token of {len(block) - 1} in {len(counts)} entries")
        counts += block
    return counts.astype(np.float64)


def score_tokens(
    table: pd.DataFrame, counts: np.ndarray, tokenizer: Path, add: float, unit: str
) -> results.Result:
    """Score words by token counts, summed per word; tokens without a count go to the ledger."""
    opened, _ = tokenizer_files.load("", tokenizer)
    kind = alignment.kinds(opened)
    if len(counts) > len(kind):
        raise InputError(f"{len(counts):,} counts, but {tokenizer} has {len(kind):,} entries")
    counts = np.append(counts, np.zeros(len(kind) - len(counts)))
    with np.errstate(divide="ignore"):
        log = np.log(counts + add) - np.log(counts.sum() + add * len(counts))
    plain, number = np.full(len(table), np.nan), np.zeros(len(table))
    issues = []
    for item, rows in table.groupby("item", sort=False).indices.items():
        shown = list(table["word"].iloc[rows])
        text = alignment.align(shown, opened, f"item {item}: ", kind=kind)
        number[rows] = np.bincount(text.word, minlength=text.words)
        summed = np.bincount(text.word, -log[text.ids], minlength=text.words)
        plain[rows] = np.where(number[rows] > 0, summed, np.nan)
        for token in np.flatnonzero(counts[text.ids] == 0):
            piece = opened.id_to_token(int(text.ids[token]))
            issues.append((rows[text.word[token]], piece, "not in the list", "count 0"))
        issues += [(rows[issue.word], "", issue.reason, issue.treatment) for issue in text.issues]
    return _build_result(table, plain, number, sorted(issues, key=lambda row: row[0]), unit)


def _build_result(table, plain, tokens, issues, unit) -> results.Result:
    none, zero = np.full(len(table), np.nan), np.zeros(len(table))
    rows = sorted({row for row, _, reason, _ in issues if reason == "not in the list"})
    examples = list(dict.fromkeys(table["word"].iloc[rows]))[:5]
    note = f"{len(rows):,} of {len(table):,} words are not in the list, such as {examples}"
    scores = results.table(table, plain, none, tokens, zero, unit)
    return results.Result(scores, results.ledger(table, issues), 0, 0.0, [note])
