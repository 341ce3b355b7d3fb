"""Rule surprisal_table: surprisal of every word of a dataset from a table of one's own (contract 3)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from recency.errors import InputError
from recency.reading import tables
from recency.scoring import results, table_text
from recency.scoring.results import Result

#: What a column may hold: the value, what says whose it is, and what goes with it.
VALUES = ("surprisal", "logprob", "probability")
KEYS = ("dataset", "word_id", "item", "sentence", "position", "word", "token", "offset", "seed")
MORE = ("corrected", "tokens")
#: Bits in one of each unit.
BITS = {"bits": 1.0, "nats": 1 / np.log(2), "log10": np.log2(10)}
#: How tables write that there is no value.
MISSING = ("", "NA", "N/A", "NaN", "nan", "None", "null", "NULL", ".", "<NA>")
#: Rounding may leave a logarithm so much above 0.
ROUNDING = 1e-6


@dataclass
class Joined:
    """Which word each row of a table belongs to (-1: none), and what was out of the ordinary."""

    row: np.ndarray  # int64 (rows,)
    issues: list[tuple[int, str, str, str]]  # as results.ledger takes them
    notes: list[str]
    spoiled: np.ndarray  # bool (words,): the rows are not this word's alone


def main(
    words: Path,
    table: Path,
    out: Path,
    ledger: Path | None = None,
    *,
    columns: Mapping[str, str],
    unit: str = "bits",
    dataset: str = "",
    called: str | None = None,
    seed: int | None = None,
    missing: float = 0.05,
    first: int | None = None,
    measures: Mapping[str, str] | None = None,
) -> None:
    """Write word_id, surprisal_bits, corrected_bits, tokens, context_tokens (0: not known), measures.

    The settings are those of `score`. `ledger` gets the words without a value and those that the
    table spells otherwise, and, with no word_id, the table's rows that are no word of the dataset.
    """
    settings = {"columns": columns, "unit": unit, "dataset": dataset, "called": called}
    settings |= {"seed": seed, "missing": missing, "first": first, "measures": measures}
    score(pd.read_parquet(words), table, **settings).write(out, ledger)


def score(
    words: pd.DataFrame,
    path: str | Path,
    *,
    columns: Mapping[str, str],
    unit: str = "bits",
    dataset: str = "",
    called: str | None = None,
    seed: int | None = None,
    missing: float = 0.05,
    first: int | None = None,
    measures: Mapping[str, str] | None = None,
) -> Result:
    """Look the words (contract 1) up in a CSV, TSV or Parquet file, and return contract 3.

    `columns` is what a column holds → its name: one of VALUES, and of KEYS those that say whose it
    is: `word_id`; or `position` with `item`, `sentence` or both; or, in the order of the text,
    `word` or `token` (with `item` and `offset` in any order). `unit` (bits, nats, log10) is that of
    a surprisal, a log-probability and a corrected surprisal. Of a `dataset` column the rows are
    taken that have the dataset's name, or what the table calls it (`called`), of a `seed` column
    those of the seed. `first` is the number
    of the first position, 0 if any is 0, else 1. `measures` are further columns, name → column.
    Raises InputError for a value that cannot be, two values of a word, other words, and where more
    than the share `missing` of the words has no value.
    """
    measures = dict(measures or {})
    value = value_column(columns, unit)
    rows = tables.read(path, dict.fromkeys([*columns.values(), *measures.values()]), separator=None)
    rows = _of_seed(_of_dataset(rows, columns, dataset, called), columns, seed)
    bits = _bits(rows, columns[value], value, unit)
    if "word_id" in columns or "position" in columns:
        rows, bits = _once(rows, bits, columns)
        joined = _by_key(words, rows, columns, first)
    else:
        rows, bits = _in_order(words, rows, bits, columns)
        joined = _by_text(words, rows, columns)
    inside = joined.row >= 0
    at = joined.row[inside]
    count = np.bincount(at, minlength=len(words))
    plain = np.bincount(at, bits[inside], minlength=len(words)).astype(float)
    plain[(count == 0) | joined.spoiled] = np.nan
    issues = joined.issues + _without(plain, count, joined.spoiled)
    none = np.full(len(words), np.nan)
    number = _summed(rows, columns["tokens"], at, inside, len(words)) if "tokens" in columns else count  # fmt: skip
    made = results.table(words, none, none, np.nan_to_num(number), np.zeros(len(words)))
    made["surprisal_bits"] = plain
    if "corrected" in columns:
        own = _summed(rows, columns["corrected"], at, inside, len(words)) * BITS[unit]
        made["corrected_bits"] = np.where(np.isnan(plain), np.nan, own)
    starts = pd.Series(np.flatnonzero(inside)).groupby(at).first()
    for name, column in measures.items():
        numbers = rows.numbers(column, minimum=None, missing=MISSING).to_numpy()
        made[name] = pd.Series(numbers[starts.to_numpy()], starts.index).reindex(made.index)
    _refuse_missing(path, words, plain, issues, missing)
    listed = results.ledger(words, sorted(issues, key=lambda issue: issue[0]))
    unused = _unused(rows, joined.row, columns)
    lacking = int(np.isnan(plain).sum())
    said = f"{len(words) - lacking:,} of {len(words):,} words have a value; {lacking:,} have none"
    strange = f"{len(unused):,} of the table's {len(rows.frame):,} rows are no word of the dataset"
    notes = [f"{path}: {said}; {strange}", *joined.notes]
    if len(unused):
        listed = pd.concat([listed.astype({"word_id": "Int64"}), unused], ignore_index=True)
    return Result(made, listed, notes=notes)


def value_column(columns: Mapping[str, str], unit: str | None) -> str:
    """Return which of VALUES the columns have; raise InputError for none, several or no such unit."""
    found = [name for name in VALUES if name in columns]
    if len(found) != 1:
        there = "both " + " and ".join(found) if found else "none of them"
        raise InputError(f"columns: one of {', '.join(VALUES)} says what is read, not {there}")
    if found[0] != "probability" and unit not in BITS:
        raise InputError(f"unit {unit!r} is none of {', '.join(BITS)}")
    return found[0]


def _of_dataset(rows, columns, dataset: str, called: str | None):
    """Keep a dataset's rows of a table of several."""
    if "dataset" not in columns:
        return rows
    names = {dataset, called} - {None}
    kept = rows[columns["dataset"]].isin(names)
    if not kept.any():
        there = ", ".join(rows[columns["dataset"]].drop_duplicates()[:8])
        raise InputError(
            f"{rows.path}: no row has {called or dataset!r} as {columns['dataset']}; there are {there}; "
            "`datasets: {<dataset>: <its name there>}` says what it is called"
        )
    return replace(rows, frame=rows.frame[kept])


def _of_seed(rows, columns, seed: int | None):
    """Keep a seed's rows of a table of several."""
    if "seed" not in columns:
        return rows
    seeds = rows.numbers(columns["seed"], integer=True)
    if not (kept := seeds == seed).any():
        there = ", ".join(str(each) for each in sorted(seeds.unique())[:8])
        raise InputError(
            f"{rows.path}: no row has {seed} as {columns['seed']}; there are {there}; `seed` of the LM, "
            "of its scale or of the experiment's `seeds` names it"
        )
    return replace(rows, frame=rows.frame[kept])


def _bits(rows: tables.Table, column: str, kind: str, unit: str) -> np.ndarray:
    """Return surprisal in bits of each row, NaN where there is none; refuse what cannot be."""
    given = rows.numbers(column, minimum=None, missing=MISSING)
    wrong, way = given < -ROUNDING, "map it as `logprob:` if these are log-probabilities"
    if kind == "logprob":
        wrong, way = given > ROUNDING, "map it as `surprisal:` if these are surprisals"
    elif kind == "probability":
        wrong, way = (given <= 0) | (given > 1), "leave what has no probability empty"
    if wrong.any():
        line = int(given.index[wrong][0])
        what = {"surprisal": "below 0", "logprob": "above 0"}.get(kind, "not above 0 and at most 1")
        more = f" ({wrong.sum():,} such rows)" if wrong.sum() > 1 else ""
        rows.fail(line, f"{column} is {rows[column][line]}, {what}, and no {kind}{more}; {way}")
    if kind == "probability":
        return -np.log2(given.to_numpy())
    sign = -1.0 if kind == "logprob" else 1.0
    return np.maximum(given.to_numpy() * sign, 0.0) * BITS[unit]


def _once(rows: tables.Table, bits: np.ndarray, columns) -> tuple[tables.Table, np.ndarray]:
    """Refuse two values of one word, unless its rows are its tokens; drop rows given twice."""
    if "token" in columns:
        return rows, bits
    keys = [columns[key] for key in KEYS[1:5] if key in columns]
    again = rows.frame.duplicated([*keys, *(columns[key] for key in VALUES if key in columns)])
    kept = ~again.to_numpy()
    return rows.without(again, "repeats of an earlier row").once(keys), bits[kept]


def _in_order(words, rows: tables.Table, bits, columns) -> tuple[tables.Table, np.ndarray]:
    """Bring rows with an offset into the order of the text: within items, or in the one item."""
    if "offset" not in columns or ("item" not in columns and words["item"].nunique() > 1):
        return rows, bits
    offset = rows.numbers(columns["offset"]).to_numpy()
    item = rows[columns["item"]] if "item" in columns else pd.Series("", rows.frame.index)
    order = np.lexsort((offset, pd.factorize(item)[0]))
    return replace(rows, frame=rows.frame.iloc[order]), bits[order]


def _by_key(words: pd.DataFrame, rows: tables.Table, columns, first: int | None) -> Joined:
    """Join by the words' numbers: word_id, or position in item or sentence."""
    readings = list(_readings(words, rows, columns, first))
    shown = table_text.plain
    known = [shown(word) for word in words["word"]]
    given = [shown(word) for word in rows[columns["word"]]] if "word" in columns else None
    best: tuple[int, np.ndarray, str] | None = None
    for what, ours, theirs in readings:
        place = {key: number for number, key in enumerate(ours)}
        found = np.array([place.get(key, -1) for key in theirs], np.int64)
        fits = [n >= 0 and (given is None or known[n] == given[row]) for row, n in enumerate(found)]
        if best is None or sum(fits) > best[0]:
            best = (sum(fits), found, what)
    _, found, what = best
    issues = []
    if given is not None:
        other = [row for row, n in enumerate(found) if n >= 0 and known[n] != given[row]]
        texts = rows[columns["word"]]
        if len(other) > 0.1 * max(1, (found >= 0).sum()) and "token" not in columns:
            line, number = rows.frame.index[other[0]], found[other[0]]
            rows.fail(
                line,
                f"{texts[line]!r} stands where the dataset has {words['word'].iloc[number]!r} (word_id "
                f"{number}), and {len(other):,} of {(found >= 0).sum():,} words are others; look at "
                f"{', '.join(columns[key] for key in KEYS[1:5] if key in columns)} and `first`",
            )
        if "token" not in columns:
            issues = [
                (int(found[row]), texts.iloc[row], "is another word in the table", "kept")
                for row in other
            ]
    notes = [f"joined by {what}"]
    return Joined(found, issues, notes, np.zeros(len(words), bool))


def _readings(words: pd.DataFrame, rows: tables.Table, columns, first: int | None):
    """Yield what a table's keys may mean: (in words, keys of the words, keys of the rows)."""
    if "word_id" in columns:
        theirs = rows.numbers(columns["word_id"], integer=True)
        yield "word_id", words["word_id"].tolist(), theirs.tolist()
        return
    position = rows.numbers(columns["position"], integer=True)
    base = int(position.min() > 0) if first is None else first
    position = (position - base + 1).tolist()
    items, theirs = _same_names(words["item"], rows, columns)
    if "sentence" not in columns:
        place = (words.groupby("item", sort=False).cumcount() + 1).tolist()
        yield f"item and position in it from {base}", list(zip(items, place)), list(zip(theirs, position))  # fmt: skip
        return
    own = words["position"].tolist()
    sentence = words["sentence"]
    text = rows[columns["sentence"]].map(_name)
    rank = sentence.rank(method="dense").astype(int)
    in_item = rank - rank.groupby(words["item"]).transform("min")
    least = pd.to_numeric(text, errors="coerce").min()
    start = int(not least < 1)
    numbered = {"its number in the dataset": sentence.astype(str)}
    numbered[f"its number from {start}"] = (rank - 1 + start).astype(str)
    if "item" in columns:
        numbered[f"its number in the item from {start}"] = (in_item + start).astype(str)
    for what, each in numbered.items():
        ours = zip(items, each, own) if "item" in columns else zip(each, own)
        keys = zip(theirs, text, position) if "item" in columns else zip(text, position)
        yield f"sentence ({what}) and position from {base}", list(ours), list(keys)


def _same_names(items: pd.Series, rows: tables.Table, columns) -> tuple[list[str], list[str]]:
    """Return the items of words and rows, "01", "1" and "1.0" the same unless the dataset tells them apart."""
    if "item" not in columns:
        return items.tolist(), []
    theirs = rows[columns["item"]]
    short = {item: _name(item) for item in items.unique()}
    if len(set(short.values())) < len(short):
        return items.tolist(), theirs.tolist()
    return items.map(short).tolist(), theirs.map(_name).tolist()


def _name(text: str) -> str:
    """Return a numbered name without leading zeros, and a whole number without decimals."""
    return re.sub(r"^(\D*?)0*(\d+)(?:\.0+)?$", r"\1\2", text)


def _by_text(words: pd.DataFrame, rows: tables.Table, columns) -> Joined:
    """Join by the words' characters, in the order of the text; within items if the table has them."""
    given = rows[columns["token" if "token" in columns else "word"]].tolist()
    found, spoiled = np.full(len(given), -1, np.int64), np.zeros(len(words), bool)
    items, theirs = _same_names(words["item"], rows, columns)
    groups = [(np.arange(len(words)), np.arange(len(given)))]
    if "item" in columns:
        where = pd.Series(np.arange(len(given))).groupby(np.asarray(theirs)).indices
        ours = pd.Series(items).groupby(np.asarray(items), sort=False).indices
        groups = [(numbers, where.get(item, np.empty(0, int))) for item, numbers in ours.items()]
    issues = []
    for ours, of_table in groups:
        if not len(of_table):
            continue
        texts = [given[row] for row in of_table]
        each = table_text.find(words["word"].iloc[ours].tolist(), texts)
        found[of_table] = np.where(each.row >= 0, ours[each.row], -1)
        touched = np.bincount(each.row[each.row >= 0], minlength=len(ours)) > 0
        spoiled[ours] = ~each.whole & touched
        for number in np.flatnonzero(spoiled[ours]):
            pieces = " ".join(texts[row] for row in np.flatnonzero(each.row == number))
            issues.append((int(ours[number]), pieces, "the table's text differs", "null"))
    return Joined(found, issues, ["joined by the words' characters"], spoiled)


def _summed(rows: tables.Table, column: str, at, inside, words: int) -> np.ndarray:
    """Return the sum of a column over the rows of each word; NaN where one has no value."""
    numbers = rows.numbers(column, minimum=None, missing=MISSING).to_numpy()[inside]
    return np.bincount(at, numbers, minlength=words)


def _without(plain, count, spoiled) -> list[tuple[int, str, str, str]]:
    """List the words that have no value, and why."""
    lacking = np.flatnonzero(np.isnan(plain) & ~spoiled)
    reasons = {0: "not in the table"}
    return [(int(n), "", reasons.get(int(count[n]), "no value in the table"), "null") for n in lacking]  # fmt: skip


def _refuse_missing(path, words: pd.DataFrame, plain, issues: Sequence, missing: float) -> None:
    """Raise InputError where more words have no value than may lack it."""
    lacking = np.flatnonzero(np.isnan(plain))
    share = len(lacking) / len(words)
    if share <= missing:
        return
    why = {row: reason for row, _, reason, treatment in issues if treatment == "null"}
    counts = pd.Series([why[number] for number in lacking]).value_counts()
    reasons = ", ".join(f"{count:,} {reason}" for reason, count in counts.items())
    shown = ", ".join(f"{words['word'].iloc[n]!r} (word_id {n})" for n in lacking[:3])
    raise InputError(
        f"{path}: {len(lacking):,} of {len(words):,} words have no value ({reasons}): {shown} …; look at "
        f"`columns`, or allow it by `missing: {np.ceil(share * 100) / 100:g}`"
    )


def _unused(rows: tables.Table, found: np.ndarray, columns: Mapping[str, str]) -> pd.DataFrame:
    """Return ledger rows of the table's rows that are no word of the dataset."""
    frame = rows.frame[found < 0]
    text = frame[columns["token"]] if "token" in columns else None
    text = frame[columns["word"]] if text is None and "word" in columns else text
    made = pd.DataFrame(index=range(len(frame)), columns=results.LEDGER, dtype="object")
    made["word_id"] = pd.array([pd.NA] * len(frame), "Int64")
    made["item"] = frame[columns["item"]].to_numpy() if "item" in columns else ""
    made["word"] = text.to_numpy() if text is not None else ""
    made["tokens"] = [f"line {line}" for line in frame.index]
    return made.assign(reason="no word of the dataset", treatment="left out")
