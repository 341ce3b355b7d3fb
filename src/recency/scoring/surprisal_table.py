"""Rule surprisal_table: read the surprisal of a dataset's words from your table (contract 3)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from readingtimes import joins, strict_tables
from readingtimes.formats import anything
from readingtimes.formats.anything import Style
from readingtimes.joins import engine
from readingtimes.joins.index import ORDER, renamed
from readingtimes.names import hint
from readingtimes.own.columns import TOGETHER, numerals, style_of
from recency.errors import InputError
from recency.scoring import results
from recency.scoring.plausible import LEAST, require_plausible
from recency.scoring.results import Result

#: Contents of columns: the value, keys that identify its word, and optional further values.
VALUES = ("surprisal", "logprob", "probability")
KEYS = ("dataset", *joins.KEYS, "token", "seed")
_OF_ONE_WORD = ("position", "word_id", "unique_id")
#: Bits per unit.
BITS = {unit: size / results.UNITS["bits"] for unit, size in results.UNITS.items()}
#: Markers of missing values.
MISSING = ("", "NA", "N/A", "NaN", "nan", "None", "null", "NULL", ".", "<NA>")
#: Tolerance of log-probabilities above 0 by rounding.
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
    """Write word_id, surprisal_bits, corrected_bits, tokens, context_tokens (0: unknown), measures.

    The settings are those of `score`. `ledger` gets the words without a value, those with another
    spelling in the table, and, without a word_id, the table's rows that match no word. `lm` is the
    LM's name, and `accept` lists the checks that its surprisal may fail.
    """
    settings = {"columns": columns, "unit": unit, "dataset": dataset, "called": called}
    settings |= {"seed": seed, "missing": missing, "measures": measures}
    settings |= {"join": join, "items": items, "sentences": sentences, "rows": rows}
    frame = pd.read_parquet(words)
    result = score(frame, table, **settings)
    declared = "probability" if "probability" in columns else unit
    require_plausible(frame, result, lm=lm, dataset=dataset, accept=accept, unit=declared)
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
    """Look up words in a table (CSV, TSV, Parquet, Excel, R data) and return contract 3.

    Parameters
    ----------
    words : DataFrame
        Contract 1, W rows.
    path : path
        The table.
    columns : mapping of str to str
        Content → name of the column: one of `VALUES`, and the `KEYS` that identify the word
        (`word_id`; `position` with `item`, `sentence` or both; `word` or `token`; `offset`). The
        labels of a list of columns are joined to one label, such as an item in a condition.
    unit : {"bits", "nats", "log10"}
        Unit of surprisal, log-probability and corrected surprisal.
    dataset, called : str
        Name of the dataset, here and in the table; selects rows by the `dataset` column.
    seed : int, optional
        Selects rows by the `seed` column.
    missing : float
        Largest share of words without a value.
    measures : mapping of str to str, optional
        Further columns to keep, name → column.
    join, items, sentences : mapping or "order", optional
        How keys are matched, and the table's labels → the words' labels (`readingtimes.joins`).
    rows : mapping of str to sequence of str, optional
        Column → values of the rows to read, for a table of several LMs.

    Returns
    -------
    Result
        Table (W rows), ledger, and the join report among the notes.

    Raises
    ------
    InputError
        For an impossible value, two values of a word, an unverified alignment, and too many words
        without a value.
    """
    measures = dict(measures or {})
    value = value_column(columns, unit)
    columns, parts = _join_columns(columns)
    rows = _read(Path(path), [*columns.values(), *measures.values()], parts, rows or {})
    of_numbers = [columns[name] for name in (*VALUES, "corrected") if name in columns]
    rows = _with_points(rows, [*of_numbers, *measures.values()])
    rows = _select_seed(_select_dataset(rows, columns, dataset, called), columns, seed)
    bits = _bits(rows, columns[value], value, unit)
    if not columns.keys().isdisjoint(_OF_ONE_WORD):
        rows, bits = _drop_repeats(rows, bits, columns)
    options = {"join": join, "items": items, "sentences": sentences}
    joined = _join(words, rows, bits, columns, options)
    row, spoiled, issues = _match_words(words, joined, rows, columns)
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
    issues += _list_lacking(plain, count, spoiled)
    none = np.full(len(words), np.nan)
    number = _sum_by_word(rows, columns["tokens"], at, inside, len(words)) if "tokens" in columns else count  # fmt: skip
    scores = results.table(words, none, none, np.nan_to_num(number), np.zeros(len(words)))
    scores["surprisal_bits"] = plain
    if "corrected" in columns:
        corrected = _sum_by_word(rows, columns["corrected"], at, inside, len(words)) * BITS[unit]
        scores["corrected_bits"] = np.where(np.isnan(plain), np.nan, corrected)
    starts = pd.Series(np.flatnonzero(inside)).groupby(at).first()
    for name, column in measures.items():
        numbers = rows.numbers(column, minimum=None, missing=MISSING).to_numpy()
        scores[name] = pd.Series(numbers[starts.to_numpy()], starts.index).reindex(scores.index)
    _refuse_missing(path, words, plain, issues, missing, joined)
    listed = results.ledger(words, sorted(issues, key=lambda issue: issue[0]))
    unused = _list_unused(rows, joined.row, columns)
    lacking = int(np.isnan(plain).sum())
    note = f"{len(words) - lacking:,} of {len(words):,} words have a value; {lacking:,} have none"
    strange = f"{len(unused):,} of the table's {len(rows.frame):,} rows are no word of the dataset"
    notes = [f"{path}: {note}; {strange}", f"{path}: joined by {joined.report}"]
    if len(unused):
        listed = pd.concat([listed.astype({"word_id": "Int64"}), unused], ignore_index=True)
    return Result(scores, listed, notes=notes)


def _join_columns(
    columns: Mapping[str, str | Sequence[str]],
) -> tuple[dict[str, str], dict[str, Sequence[str]]]:
    """Return key → column, and, for lists of columns, joined column → its columns."""
    parts = {TOGETHER.join(c): c for c in columns.values() if not isinstance(c, str)}
    return {k: c if isinstance(c, str) else TOGETHER.join(c) for k, c in columns.items()}, parts


def _read(
    path: Path,
    names: list[str],
    parts: Mapping[str, Sequence[str]],
    selected: Mapping[str, Sequence[str]],
) -> strict_tables.Table:
    """Read columns of a table of any format; raise InputError for a missing column.

    `parts` maps joined columns to their columns, and `selected` columns to the values of rows to
    read.
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


def _with_points(table: strict_tables.Table, names: list[str]) -> strict_tables.Table:
    """Return a table with decimal points in columns of numbers that have commas, and say so."""
    for name in names:
        of_column = replace(table, frame=table.frame[[name]])
        if (style := style_of(of_column, Style())).decimal == ",":
            plain = numerals(table[name], style)
            line = plain.index[(plain != table[name]).to_numpy()][0]
            strict_tables.warn(
                table.path,
                f"{name} has decimal commas: {table[name][line]} is read as {plain[line]}",
            )
            table = replace(table, frame=table.frame.assign(**{name: plain}))
    return table


def value_column(columns: Mapping[str, str], unit: str | None) -> str:
    """Return which of VALUES the columns have; raise InputError for none or several."""
    named = [name for name in VALUES if name in columns]
    if len(named) != 1:
        there = "both " + " and ".join(named) if named else "none of them"
        raise InputError(f"columns: name exactly one of {', '.join(VALUES)}, not {there}")
    if named[0] != "probability" and unit not in BITS:
        raise InputError(f"unit {unit!r} is none of {', '.join(BITS)}")
    return named[0]


def _select_dataset(rows, columns, dataset: str, called: str | None):
    """Keep the rows of a dataset."""
    if "dataset" not in columns:
        return rows
    names = {dataset, called} - {None}
    kept = rows[columns["dataset"]].isin(names)
    if not kept.any():
        there = ", ".join(rows[columns["dataset"]].drop_duplicates()[:8])
        raise InputError(
            f"{rows.path}: no row has {called or dataset!r} as {columns['dataset']}; there are {there}; "
            "set its name in the table as `datasets: {<dataset>: <name>}`"
        )
    return replace(rows, frame=rows.frame[kept])


def _select_seed(rows, columns, seed: int | None):
    """Keep the rows of a seed."""
    if "seed" not in columns:
        return rows
    seeds = rows.numbers(columns["seed"], integer=True)
    if not (kept := seeds == seed).any():
        there = ", ".join(str(number) for number in sorted(seeds.unique())[:8])
        raise InputError(
            f"{rows.path}: no row has {seed} as {columns['seed']}; there are {there}; set `seed` of the LM, "
            "of its scale or in the experiment's `seeds`"
        )
    return replace(rows, frame=rows.frame[kept])


def _bits(rows: strict_tables.Table, column: str, kind: str, unit: str) -> np.ndarray:
    """Return the surprisal of each row in bits, NaN where missing; refuse impossible values."""
    given = rows.numbers(column, minimum=None, missing=MISSING)
    wrong, way = given < -ROUNDING, "map it as `logprob:` if these are log-probabilities"
    if kind == "logprob":
        wrong, way = given > ROUNDING, "map it as `surprisal:` if these are surprisals"
    elif kind == "probability":
        wrong, way = (given <= 0) | (given > 1), "leave missing probabilities empty"
    if wrong.any():
        line = int(given.index[wrong][0])
        what = {"surprisal": "below 0", "logprob": "above 0"}.get(kind, "not above 0 and at most 1")
        more = f" ({wrong.sum():,} such rows)" if wrong.sum() > 1 else ""
        if kind != "probability" and len(given) >= LEAST and 0.1 < (given < 0).mean() < 0.9:
            way = "z-scores, centred values or residuals cannot be read: give the LM's own values"
        rows.fail(line, f"{column} is {rows[column][line]}, {what}, and no {kind}{more}; {way}")
    if kind == "probability":
        return -np.log2(given.to_numpy())
    sign = -1.0 if kind == "logprob" else 1.0
    return np.maximum(given.to_numpy() * sign, 0.0) * BITS[unit]


def _drop_repeats(
    rows: strict_tables.Table, bits: np.ndarray, columns
) -> tuple[strict_tables.Table, np.ndarray]:
    """Drop repeated rows and refuse two values of one word, unless rows are tokens."""
    if "token" in columns:
        return rows, bits
    names = ("item", "sentence", *_OF_ONE_WORD)
    keys = [columns[key] for key in names if key in columns]
    values = [columns[key] for key in ("word", *VALUES) if key in columns]
    again = rows.frame.duplicated([*keys, *values])
    kept = ~again.to_numpy()
    return rows.without(again, "repeats of an earlier row").once(keys), bits[kept]


def _join(
    words: pd.DataFrame,
    rows: strict_tables.Table,
    bits: np.ndarray,
    columns: Mapping[str, str],
    options: Mapping[str, object],
) -> engine.Join:
    """Join the table's rows to the words (`readingtimes.joins`)."""
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
                f"{rows.path}: {columns[name]} is empty in all selected rows, so that their words cannot "
                f"be verified; fill it in, or map other columns in place of `{name}`"
            )
    chosen = dict(options["join"] or {})
    for name in ("item", "sentence"):
        if options[f"{name}s"] == ORDER:
            chosen[name] = ORDER
    keys["value"] = bits
    return engine.join(words, keys, rows.path, chosen=chosen, kind="surprisal", partial=True)


def _match_words(
    words: pd.DataFrame, joined: engine.Join, rows: strict_tables.Table, columns: Mapping[str, str]
) -> tuple[np.ndarray, np.ndarray, list[tuple[int, str, str, str]]]:
    """Return the word of each row (-1: none), the words with invalid values, and the issues."""
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


def _sum_by_word(rows: strict_tables.Table, column: str, at, inside, words: int) -> np.ndarray:
    """Return the sum of a column over each word's rows; NaN if one is missing."""
    numbers = rows.numbers(column, minimum=None, missing=MISSING).to_numpy()[inside]
    return np.bincount(at, numbers, minlength=words)


def _list_lacking(plain, count, spoiled) -> list[tuple[int, str, str, str]]:
    """List the words without a value, with reasons."""
    lacking = np.flatnonzero(np.isnan(plain) & ~spoiled)
    reasons = {0: "not in the table"}
    return [(int(n), "", reasons.get(int(count[n]), "no value in the table"), "null") for n in lacking]  # fmt: skip


def _refuse_missing(
    path, words: pd.DataFrame, plain, issues: Sequence, missing: float, joined: engine.Join
) -> None:
    """Raise InputError if the share of words without a value exceeds `missing`."""
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


def _list_unused(
    rows: strict_tables.Table, word_row: np.ndarray, columns: Mapping[str, str]
) -> pd.DataFrame:
    """Return ledger entries for the table's rows that match no word of the dataset."""
    frame = rows.frame[word_row < 0]
    text = frame[columns["token"]] if "token" in columns else None
    text = frame[columns["word"]] if text is None and "word" in columns else text
    ledger = pd.DataFrame(index=range(len(frame)), columns=results.LEDGER, dtype="object")
    ledger["word_id"] = pd.array([pd.NA] * len(frame), "Int64")
    ledger["item"] = frame[columns["item"]].to_numpy() if "item" in columns else ""
    ledger["word"] = text.to_numpy() if text is not None else ""
    ledger["tokens"] = [f"line {line}" for line in frame.index]
    return ledger.assign(reason="no word of the dataset", treatment="left out")
