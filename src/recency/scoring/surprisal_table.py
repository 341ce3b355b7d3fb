"""Rule surprisal_table: surprisal of every word of a dataset from a table of one's own (contract 3)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from recency.errors import InputError
from recency.names import hint
from recency.reading import join_keys, strict_tables
from recency.reading.formats import anything
from recency.reading.formats.anything import Style
from recency.reading.joins import engine
from recency.reading.joins.index import ORDER, renamed
from recency.reading.own.columns import TOGETHER
from recency.scoring import results
from recency.scoring.plausible import require_plausible
from recency.scoring.results import Result

#: What a column may hold: the value, what says whose it is, and what goes with it.
VALUES = ("surprisal", "logprob", "probability")
KEYS = ("dataset", *join_keys.KEYS, "token", "seed")
_OF_ONE_WORD = ("position", "word_id", "unique_id")
MORE = ("corrected", "tokens")
#: Bits in one of each unit.
BITS = {"bits": 1.0, "nats": 1 / np.log(2), "log10": np.log2(10)}
#: How tables write that there is no value.
MISSING = ("", "NA", "N/A", "NaN", "nan", "None", "null", "NULL", ".", "<NA>")
#: Rounding may leave a logarithm so much above 0.
ROUNDING = 1e-6


def main(
    words: Path,
    table: Path,
    out: Path,
    ledger: Path | None = None,
    *,
    columns: Mapping[str, str],
    unit: str = "bits",
    dataset: str = "",
    lm: str = "",
    accept: Collection[str] = (),
    called: str | None = None,
    seed: int | None = None,
    missing: float = 0.05,
    measures: Mapping[str, str] | None = None,
    join: Mapping[str, str] | None = None,
    items: Mapping[str, str] | str | None = None,
    sentences: Mapping[str, str] | str | None = None,
    rows: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """Write word_id, surprisal_bits, corrected_bits, tokens, context_tokens (0: not known), measures.

    The settings are those of `score`. `ledger` gets the words without a value and those that the
    table spells otherwise, and, with no word_id, the table's rows that are no word of the dataset.
    `lm` is the LM's name, and `accept` the checks that its surprisal may fail.
    """
    settings = {"columns": columns, "unit": unit, "dataset": dataset, "called": called}
    settings |= {"seed": seed, "missing": missing, "measures": measures}
    settings |= {"join": join, "items": items, "sentences": sentences, "rows": rows}
    known = pd.read_parquet(words)
    result = score(known, table, **settings)
    declared = None if "probability" in columns else unit
    require_plausible(known, result, lm=lm, dataset=dataset, accept=accept, unit=declared)
    result.write(out, ledger)


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
    measures: Mapping[str, str] | None = None,
    join: Mapping[str, str] | None = None,
    items: Mapping[str, str] | str | None = None,
    sentences: Mapping[str, str] | str | None = None,
    rows: Mapping[str, Sequence[str]] | None = None,
) -> Result:
    """Look the words up in a table (CSV, TSV, Parquet, Excel, R's data), and return contract 3.

    Parameters
    ----------
    words : DataFrame
        Contract 1, W rows.
    path : path
        The table.
    columns : mapping of str to str
        What a column holds → its name: one of `VALUES`, and of `KEYS` those that say whose it is
        (`word_id`; `position` with `item`, `sentence` or both; `word` or `token`; `offset`). A list
        of columns is one label together, as an item in a condition.
    unit : {"bits", "nats", "log10"}
        Of a surprisal, a log-probability and a corrected surprisal.
    dataset, called : str
        Of a `dataset` column, the rows that have the dataset's name, or what the table calls it.
    seed : int, optional
        Of a `seed` column, the rows of this seed.
    missing : float
        Share of the words that may have no value.
    measures : mapping of str to str, optional
        Further columns to keep, name → column.
    join, items, sentences : mapping or "order", optional
        How keys are read, and the labels of the table → those of the words
        (`recency.reading.joins`).
    rows : mapping of str to sequence of str, optional
        Column → the values whose rows are read, of a table of several LMs.

    Returns
    -------
    Result
        Table (W rows), ledger, and the join report among the notes.

    Raises
    ------
    InputError
        For a value that cannot be, two values of a word, an alignment that is not verified, and
        more words without a value than `missing`.
    """
    measures = dict(measures or {})
    value = value_column(columns, unit)
    columns, parts = _single(columns)
    rows = _read(Path(path), [*columns.values(), *measures.values()], parts, rows or {})
    rows = _of_seed(_of_dataset(rows, columns, dataset, called), columns, seed)
    bits = _bits(rows, columns[value], value, unit)
    if not columns.keys().isdisjoint(_OF_ONE_WORD):
        rows, bits = _once(rows, bits, columns)
    options = {"join": join, "items": items, "sentences": sentences}
    joined = _join(words, rows, bits, columns, options)
    row, spoiled, issues = _word_by_word(words, joined, rows, columns)
    inside = row >= 0
    at = row[inside]
    count = np.bincount(at, minlength=len(words))
    if "token" not in columns and joined.whole is None and (count > 1).any():
        number = int(np.argmax(count))
        first, second = np.flatnonzero(row == number)[:2]
        rows.fail(
            rows.frame.index[second],
            f"a second value of {words['word'].iloc[number]!r} (word_id {number}), after line "
            f"{rows.frame.index[first]}; each word may have one",
        )
    plain = np.bincount(at, bits[inside], minlength=len(words)).astype(float)
    plain[(count == 0) | spoiled] = np.nan
    issues += _without(plain, count, spoiled)
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
    _refuse_missing(path, words, plain, issues, missing, joined)
    listed = results.ledger(words, sorted(issues, key=lambda issue: issue[0]))
    unused = _unused(rows, joined.row, columns)
    lacking = int(np.isnan(plain).sum())
    said = f"{len(words) - lacking:,} of {len(words):,} words have a value; {lacking:,} have none"
    strange = f"{len(unused):,} of the table's {len(rows.frame):,} rows are no word of the dataset"
    notes = [f"{path}: {said}; {strange}", f"{path}: joined by {joined.report}"]
    if len(unused):
        listed = pd.concat([listed.astype({"word_id": "Int64"}), unused], ignore_index=True)
    return Result(made, listed, notes=notes)


def _single(
    columns: Mapping[str, str | Sequence[str]],
) -> tuple[dict[str, str], dict[str, Sequence[str]]]:
    """Return key → one column, and the columns that one stands for where a list names several."""
    parts = {TOGETHER.join(c): c for c in columns.values() if not isinstance(c, str)}
    return {k: c if isinstance(c, str) else TOGETHER.join(c) for k, c in columns.items()}, parts


def _read(
    path: Path,
    names: list[str],
    parts: Mapping[str, Sequence[str]],
    selected: Mapping[str, Sequence[str]],
) -> strict_tables.Table:
    """Read columns of a table of any format; raise InputError for one that is not there.

    `parts`: column → those whose labels together it has; `selected`: column → values of its rows.
    """
    columns = list(dict.fromkeys(part for name in names for part in parts.get(name, (name,))))
    columns = [*columns, *(name for name in selected if name not in columns)]

    def choose(there: list[str]) -> list[str]:
        for name in columns:
            if name not in there:
                listed = ", ".join(there[:40])
                raise InputError(
                    f"{path} has no column {name}; {hint(name, there)}It has: {listed}"
                )
        return columns

    rows = {name: list(values) for name, values in selected.items()}
    table = anything.read(path, Style(rows=rows), choose)
    for name, several in parts.items():
        joined = table.frame[list(several)].agg(" ".join, axis=1)
        table = replace(table, frame=table.frame.assign(**{name: joined}))
    return table


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


def _bits(rows: strict_tables.Table, column: str, kind: str, unit: str) -> np.ndarray:
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


def _once(
    rows: strict_tables.Table, bits: np.ndarray, columns
) -> tuple[strict_tables.Table, np.ndarray]:
    """Refuse two values of one word, unless its rows are its tokens; drop rows given twice."""
    if "token" in columns:
        return rows, bits
    names = ("item", "sentence", *_OF_ONE_WORD)
    keys = [columns[key] for key in names if key in columns]
    again = rows.frame.duplicated([*keys, *(columns[key] for key in VALUES if key in columns)])
    kept = ~again.to_numpy()
    return rows.without(again, "repeats of an earlier row").once(keys), bits[kept]


def _join(
    words: pd.DataFrame,
    rows: strict_tables.Table,
    bits: np.ndarray,
    columns: Mapping[str, str],
    options: Mapping[str, object],
) -> engine.Join:
    """Join the table's rows to the words (`recency.reading.joins`)."""
    keys = pd.DataFrame(index=rows.frame.index)
    for name in ("item", "sentence"):
        if name in columns:
            keys[name] = renamed(rows[columns[name]], options[f"{name}s"], f"{name}s")
    for name in ("word_id", "position", "offset"):
        if name in columns:
            keys[name] = rows.numbers(columns[name], integer=True)
    for name in ("word", "token", "unique_id", "length"):
        if name in columns:
            keys[name] = rows.numbers(columns[name]) if name == "length" else rows[columns[name]]
    for name in ("word", "token"):
        if name in keys and (keys[name] == "").all():
            raise InputError(
                f"{rows.path}: {columns[name]} is empty in all rows that are read, so that their words cannot "
                f"be verified; fill it in, or map other columns in place of `{name}`"
            )
    chosen = dict(options["join"] or {})
    for name in ("item", "sentence"):
        if options[f"{name}s"] == ORDER:
            chosen[name] = ORDER
    keys["value"] = bits
    return engine.join(words, keys, rows.path, chosen=chosen, kind="surprisal", partial=True)


def _word_by_word(
    words: pd.DataFrame, joined: engine.Join, rows: strict_tables.Table, columns: Mapping[str, str]
) -> tuple[np.ndarray, np.ndarray, list[tuple[int, str, str, str]]]:
    """Return the word of each row (-1: none), words without a value of their own, and the issues."""
    row = np.where(joined.misplaced, -1, joined.row)
    count = np.bincount(row[row >= 0], minlength=len(words))
    spoiled, issues = np.zeros(len(words), bool), []
    text = rows[columns["token" if "token" in columns else "word"]] if joined.differ.any() or (
        joined.whole is not None
    ) else None  # fmt: skip
    if joined.whole is not None:
        spoiled = ~joined.whole & (count > 0)
        for number in np.flatnonzero(spoiled):
            pieces = " ".join(text.iloc[np.flatnonzero(row == number)])
            issues.append((int(number), pieces, "the table's text differs", "null"))
        return row, spoiled, issues
    for at in np.flatnonzero(joined.differ):
        treatment = "null" if joined.misplaced[at] else "kept"
        reason = "is another word in the table" if joined.misplaced[at] else "is spelled otherwise"
        number = int(joined.row[at])
        issues.append((number, text.iloc[at], reason, treatment))
        spoiled[number] |= bool(joined.misplaced[at])
    return row, spoiled, issues


def _summed(rows: strict_tables.Table, column: str, at, inside, words: int) -> np.ndarray:
    """Return the sum of a column over the rows of each word; NaN where one has no value."""
    numbers = rows.numbers(column, minimum=None, missing=MISSING).to_numpy()[inside]
    return np.bincount(at, numbers, minlength=words)


def _without(plain, count, spoiled) -> list[tuple[int, str, str, str]]:
    """List the words that have no value, and why."""
    lacking = np.flatnonzero(np.isnan(plain) & ~spoiled)
    reasons = {0: "not in the table"}
    return [(int(n), "", reasons.get(int(count[n]), "no value in the table"), "null") for n in lacking]  # fmt: skip


def _refuse_missing(
    path, words: pd.DataFrame, plain, issues: Sequence, missing: float, joined: engine.Join
) -> None:
    """Raise InputError where more words have no value than may lack it."""
    lacking = np.flatnonzero(np.isnan(plain))
    share = len(lacking) / len(words)
    if share <= missing:
        return
    why = {row: reason for row, _, reason, treatment in issues if treatment == "null"}
    counts = pd.Series([why[number] for number in lacking]).value_counts()
    reasons = ", ".join(f"{count:,} {reason}" for reason, count in counts.items())
    shown = ", ".join(f"{words['word'].iloc[n]!r} (word_id {n})" for n in lacking[:3])
    way = f"allow it by `missing: {np.ceil(share * 100) / 100:g}`"
    if joined.verified != "words":
        way = "map `word`, so that the other values can be verified"
    raise InputError(
        f"{path}: {len(lacking):,} of {len(words):,} words have no value ({reasons}): {shown} …; "
        f"{way}; joined by {joined.report}"
    )


def _unused(
    rows: strict_tables.Table, found: np.ndarray, columns: Mapping[str, str]
) -> pd.DataFrame:
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
