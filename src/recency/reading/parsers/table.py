"""Bring your own corpus: tables as they are found, their columns named in the config, no code.

A file is CSV, TSV or other delimited text, gzipped or not, Parquet, Feather, Excel's .xlsx or R's
.rda and .rds. The option `columns` maps what is needed to the columns of the file; a name left out
is a column of that very name, null says that there is none. One file may hold words and responses;
of two, `columns: {words: {…}, responses: {…}}` maps what they call otherwise.

- `item` (null: one text), `sentence` (any label; none: see `sentences`), `position` (in the
  sentence or the text, from 0 or 1; null: the order of the rows), `word`: of the words.
- `space_after`, if there is one: true or false, whether a space follows the word in the text.
- `subject` (none: means over readers); `word_id` (from 0, in reading order), or `position` with
  `item` or `sentence`; and each measure (`SPR: my_rt`; `time_ms` serves a measure that is not
  mapped): of the responses. A measure is a time, 0 for a word that was not fixated. With a star
  (`SPR: "rt_*"`) each column that fits is a subject's, called by what the star stands for.
- `span`, `last_position` or `region` (a label that words have, too): a response to several words,
  from its own on.
- any other name: a column that is kept, as numbers if it holds nothing else; with the words if
  all rows of a word agree, with the responses if not.

Further options: `phrases: true`: a row's `word` is several words, to all of which it responds;
`sentences`: punctuation, or item (one each), where no column says; `missing`: the
spellings of a missing value; `skipped: true`: a missing time is of a word that was not fixated,
0 ms; `unmatched: dropped`: rows to words that there are not, as of practice; `unit`: ms or s; `amplitudes`: measures in microvolts; `separator`, `encoding`, `decimal`,
`sheet` (of a workbook), `frame` (of R's data).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from recency.errors import InputError
from recency.names import hint
from recency.reading.contracts import padded
from recency.reading.fixations import previous_fixated, since_fixation
from recency.reading.formats.anything import Style
from recency.reading.joins.index import ORDER, renamed
from recency.reading.options import one_of
from recency.reading.own import places, texts
from recency.reading.own.columns import (
    MISSING,
    Columns,
    columns_of,
    decimal,
    labels,
    lacking,
    matching,
    positions,
    read,
    typed,
)
from recency.reading.tables import Table, all_visible, only, warn

MEASURES = None

_UNITS = {"ms": 1.0, "s": 1000.0}


def words(
    files: dict[str, Path],
    *,
    columns: Mapping | None = None,
    sentences: str | Mapping | None = None,
    separator: str | None = None,
    encoding: str = "utf-8",
    decimal: str = ".",
    sheet: str | None = None,
    frame: str | None = None,
    missing: Sequence[str] | None = None,
    phrases: bool = False,
    measures: Sequence[str] = (),
) -> pd.DataFrame:
    """Read the words; rows that repeat a word for another subject must agree.

    `measures` are the names of responses, which are no columns of words to keep.
    """
    path, mapped = only(files, "words of a table"), columns_of(columns, "words")
    rule = _rule(sentences)
    others = {n: c for n, c in mapped.others().items() if n not in measures}
    wanted = ("subject", "item", "sentence", "position", "word", "space_after", "region")

    def pick(there: list[str]) -> list[str]:
        found = [mapped.find(name, there) for name in wanted]
        mapped.needed("word", path, there)
        if mapped.name("position") is not None:
            rows = "or map `position: null`, to count the rows as they stand. "
            mapped.needed("position", path, there, rows)
        for name in ("item", "sentence"):
            if mapped.of.get(name) is not None:
                mapped.needed(name, path, there)
        if mapped.find("item", there) is None and mapped.name("item") is not None:
            raise lacking(path, "item", there, "options → columns → item names that of the texts. ")
        if mapped.find("sentence", there) is None and rule is None:
            way = "or say `sentences: punctuation` or `sentences: item` in the options. "
            raise lacking(path, mapped.name("sentence") or "sentence", there, way)
        for name, column in others.items():
            if name in mapped.given and column not in there:
                raise lacking(path, column, there)
        return [*found, *(column for column in others.values() if column in there)]

    style = Style(separator, encoding, sheet, frame, decimal)
    table = read(path, style, mapped, pick)
    rows = _rows(table, mapped, phrases)
    if not rows.has("position"):
        rows = texts.by_row_order(rows)
    kept = _of_words(table, rows, others, mapped, missing, decimal)
    return texts.build(rows, rule, kept, phrases)


def responses(
    files: dict[str, Path],
    words: pd.DataFrame,
    measure: str,
    *,
    columns: Mapping | None = None,
    separator: str | None = None,
    encoding: str = "utf-8",
    decimal: str = ".",
    sheet: str | None = None,
    frame: str | None = None,
    missing: Sequence[str] | None = None,
    skipped: bool = False,
    unit: str = "ms",
    amplitudes: Sequence[str] = (),
    eye_tracking: bool = False,
    unmatched: str = "refused",
    join: Mapping[str, str] | None = None,
    items: Mapping | str | None = None,
    sentences: Mapping | str | None = None,
    subjects: Mapping | None = None,
) -> pd.DataFrame:
    """Read `measure` in ms, the subject and what else is mapped, in reading order.

    Rows without a value are dropped, and counted on stderr. With `eye_tracking`,
    words_since_fixation and previous_fixated are counted over each subject's words of a text
    (a word without a row was not fixated), unless columns are mapped to them.
    """
    path, mapped = only(files, "responses of a table"), columns_of(columns, "responses")
    one_of("unit", unit, _UNITS)
    one_of("unmatched", unmatched, ("refused", "dropped"))
    style = Style(separator, encoding, sheet, frame, decimal)
    table, time, others = _read(path, style, mapped, measure, words)
    subject = renamed(_subjects(table, mapped), subjects, "options → subjects")
    value = "amplitude_uv" if measure in amplitudes else "time_ms"
    values = _values(table, time, missing, decimal, value)
    values = values * (_UNITS[unit] if value == "time_ms" else 1.0)
    options = places.Options(_selected(join, items, sentences), items, sentences, unmatched)
    times = values if value == "time_ms" else None
    found = places.find(table, mapped, words, subject, times, options)
    table, subject = Table(table.path, table.frame[found.kept]), subject[found.kept]
    made = pd.DataFrame({"subject": padded(subject), "word_id": found.word_id})
    made[value] = values[found.kept]
    if (found.span > 1).any():
        made["span"] = found.span
    for name, column in others.items():
        kept = typed(table, column, missing, decimal)
        if name in words:
            _agree(table, name, kept, words, found.word_id)
        else:
            made[name] = kept.to_numpy()
    _once(table, mapped, made, subject)
    made = _in_order(path, made, words)
    if eye_tracking:
        made = _with_history(made, words, value)
    return _without_missing(path, made, value, measure, skipped)


def _rule(sentences: str | Mapping | None) -> str | None:
    """Return how the words' sentences are found; a mapping or `order` is of the responses."""
    if sentences is None or isinstance(sentences, Mapping) or sentences == ORDER:
        return None
    one_of("sentences", sentences, (*texts.RULES, ORDER))
    return sentences


def _selected(join: Mapping | None, items: object, sentences: object) -> dict[str, str]:
    """Return the option `join`, with `items: order` and `sentences: order`."""
    chosen = dict(join or {})
    if items == ORDER:
        chosen["item"] = ORDER
    if sentences == ORDER:
        chosen["sentence"] = ORDER
    return chosen


def _rows(table: Table, mapped: Columns, phrases: bool) -> texts.Rows:
    """Give what a table's rows say of their words."""
    there = list(table.frame.columns)
    frame = pd.DataFrame(index=table.frame.index)
    for name in ("subject", "item", "sentence"):
        if (column := mapped.find(name, there)) is not None:
            frame[name] = labels(table, column)
    if "item" not in frame:
        frame["item"] = "text"
    if (column := mapped.find("position", there)) is not None:
        frame["position"] = positions(table, column)
    column = mapped.find("word", there)
    frame["word"] = all_visible(table[column])
    plain = frame.word.str.replace(" ", "", regex=False) if phrases else frame.word
    if (wrong := ~plain.str.fullmatch(r"[^\s\x00-\x1f\x7f]+")).any():
        line, value = frame.index[int(np.argmax(wrong))], frame.word[wrong].iloc[0]
        what = "every row needs its word"
        if value:
            what = "a word has no space inside; rows of several words: `phrases: true`"
        table.fail(line, f"{column} is {value!r}; {what} ({wrong.sum():,} such rows)")
    if (column := mapped.find("space_after", there)) is not None:
        frame["space_after"] = _spaces(table, column)
        frame.attrs["space_after"] = column
    return texts.Rows(table, frame)


def _of_words(
    table: Table,
    rows: texts.Rows,
    others: Mapping[str, str],
    mapped: Columns,
    missing: Sequence[str] | None,
    mark: str,
) -> pd.DataFrame:
    """Give the columns in which all rows of a word agree; InputError where one must and does not."""
    frame, kept = rows.frame, pd.DataFrame(index=rows.frame.index)
    keys = [frame[name] for name in ("item", "sentence", "position") if name in frame]
    if (region := mapped.find("region", table.frame.columns)) is not None:
        others = {**others, "region": region}
    for name, column in others.items():
        if column not in table or column in (mapped.find("subject", table.frame.columns),):
            continue
        differs = table[column] != table[column].groupby(keys, sort=False).transform("first")
        if not differs.any():
            kept[name] = typed(table, column, missing, mark)
        elif name in mapped.given or name == "region":
            line = differs.index[int(np.argmax(differs))]
            table.fail(
                line, f"{column} is {table[column][line]!r}, before it was another of this word"
            )
    return kept


def _read(
    path: Path, style: Style, mapped: Columns, measure: str, words: pd.DataFrame
) -> tuple[Table, str, dict[str, str]]:
    """Read the responses' columns; give the table, the column of times, and name → column to keep."""
    wide: dict[str, str] = {}
    chosen: dict[str, str] = {}
    others: dict[str, str] = {}

    def pick(there: list[str]) -> list[str]:
        chosen["time"] = _time_column(path, mapped, measure, there)
        if chosen["time"] not in there:
            wide.update(matching(chosen["time"], there))
        for name, column in mapped.others().items():
            if column in there:
                others[name] = column
            elif name != measure and name not in words and not matching(column, there):
                known = hint(column, there)
                raise InputError(
                    f"{path} has no column {column}, which options → columns → {name} names; {known}"
                )
        keys = ["subject", "word_id", "item", "sentence", "position", "word", "last_position"]
        found = [mapped.find(name, there) for name in (*keys, "span", "region", "length")]
        for name in ("subject", *keys[2:5]):
            if name in mapped.given and mapped.of[name] is not None:
                mapped.needed(name, path, there)
        if "subject" in mapped.of and mapped.of["subject"] is not None and not wide:
            mapped.needed("subject", path, there)
        return [*found, *(wide or [chosen["time"]]), *others.values()]

    table = read(path, style, mapped, pick)
    time = chosen["time"]
    others = {n: c for n, c in others.items() if c != time and n != "time_ms"}
    if wide:
        table, time = _long(table, wide, time), "time_ms"
    return table, time, {n: c for n, c in others.items() if c in table}


def _time_column(path: Path, mapped: Columns, measure: str, there: list[str]) -> str:
    """Give the column of a measure, or the pattern of its subjects' columns."""
    for name in (measure, "time_ms"):
        if mapped.of.get(name) is not None:
            column = mapped.of[name]
            if column in there or matching(column, there):
                return column
            raise lacking(path, column, there)
    for name in (measure, "time_ms"):
        if name in there:
            return name
    raise lacking(
        path, "time_ms", there, f"options → columns → {measure} names that of the times. "
    )


def _long(table: Table, wide: Mapping[str, str], pattern: str) -> Table:
    """Give a row a word and subject of a table with a column a subject; columns time_ms, subject."""
    if "subject" in table or "time_ms" in table:
        raise InputError(
            f"{table.path} has a column a subject ({pattern}), and a column subject, too"
        )
    rest = table.frame.drop(columns=list(wide))
    parts = [rest.assign(time_ms=table[column], subject=name) for column, name in wide.items()]
    return Table(table.path, pd.concat(parts))


def _subjects(table: Table, mapped: Columns) -> pd.Series:
    """Give each row's subject, `mean` where no column has one."""
    column = "subject" if "time_ms" in table and "subject" in table else None
    column = column or mapped.find("subject", table.frame.columns)
    if column is None:
        return pd.Series("mean", index=table.frame.index)
    return labels(table, column)


def _values(
    table: Table, column: str, missing: Sequence[str] | None, mark: str, value: str
) -> pd.Series:
    """Give the responses as numbers, NaN where there is none; InputError if there is none at all."""
    table = decimal(table, column, mark)
    absent = MISSING if missing is None else ("", *map(str, missing))
    minimum = 0 if value == "time_ms" else None
    values = table.numbers(column, missing=absent, minimum=minimum)
    if values.isna().all():
        raise InputError(f"{table.path}: {column} has no value at all")
    return values


def _spaces(table: Table, name: str) -> pd.Series:
    """Read whether a space follows each word."""
    folded = table[name].str.casefold()
    wrong = ~folded.isin(["true", "false"])
    if wrong.any():
        line = folded.index[wrong][0]
        table.fail(line, f"{name} is {table[name][line]!r}, neither true nor false")
    return folded == "true"


def _agree(
    table: Table, name: str, kept: pd.Series, words: pd.DataFrame, word_id: pd.Series
) -> None:
    """Raise InputError where a column of the responses is another than the words' of that name."""
    known = words[name].to_numpy()[word_id.to_numpy()]
    own = kept.to_numpy()
    differs = (own != known) & ~(pd.isna(own) & pd.isna(known))
    if differs.any():
        place = int(np.argmax(differs))
        table.fail(
            word_id.index[place],
            f"{name} is {own[place]}, in the words {known[place]}; keep it under another name: "
            "columns → responses",
        )


def _once(table: Table, mapped: Columns, made: pd.DataFrame, subject: pd.Series) -> None:
    """Raise InputError where a subject responds to a word twice."""
    again = made.duplicated(["subject", "word_id"]).to_numpy()
    if again.any():
        place = int(np.argmax(again))
        line = made.index[place]
        if (subject == "mean").all():
            table.fail(
                line,
                f"a second response to this word ({again.sum():,} such rows); if there are several "
                f"readers, map `subject` (there is no column {mapped.name('subject')})",
            )
        table.fail(
            line,
            f"subject {subject.iloc[place]} has a response to this word already "
            f"({again.sum():,} such rows)",
        )


def _in_order(path: Path, made: pd.DataFrame, words: pd.DataFrame) -> pd.DataFrame:
    """Sort each subject's words of a text, texts and subjects as they come; say if it was needed."""
    item = words["item"].to_numpy()[made.word_id.to_numpy()]
    rank = made.groupby("subject", sort=False).ngroup().to_numpy()
    text = pd.DataFrame({"subject": rank, "item": item})
    text = text.groupby(["subject", "item"], sort=False).ngroup().to_numpy()
    order = np.lexsort((made.word_id.to_numpy(), text, rank))
    moved = int((order != np.arange(len(made))).sum())
    if moved:
        warn(path, f"{moved:,} rows were out of reading order, and are sorted by subject and word")
    return made.iloc[order].reset_index(drop=True)


def _with_history(made: pd.DataFrame, words: pd.DataFrame, value: str) -> pd.DataFrame:
    """Add words_since_fixation and previous_fixated where they are not there."""
    item = pd.Series(words["item"].to_numpy()[made.word_id.to_numpy()], index=made.index)
    read = pd.DataFrame({"subject": made.subject, "item": item}).drop_duplicates()
    all_words = read.merge(words[["item", "word_id"]], on="item", how="left", sort=False)
    rows = all_words.merge(
        made[["subject", "word_id", value]], on=["subject", "word_id"], how="left"
    )
    rows = rows.astype({"subject": "str"})
    fixated = rows[value] > 0
    rows["words_since_fixation"] = since_fixation(fixated)
    rows["previous_fixated"] = previous_fixated(fixated, [rows.subject, rows["item"]])
    new = [n for n in ("words_since_fixation", "previous_fixated") if n not in made]
    found = rows.set_index(["subject", "word_id"])[new]
    index = pd.MultiIndex.from_frame(made[["subject", "word_id"]])
    return made.assign(**{name: found[name].reindex(index).to_numpy() for name in new})


def _without_missing(
    path: Path, made: pd.DataFrame, value: str, measure: str, skipped: bool
) -> pd.DataFrame:
    """Drop responses without a value, and say how many; or take them for words not fixated."""
    gone = made[value].isna()
    if not gone.any():
        return made
    if skipped and value == "time_ms":
        warn(
            path, f"{gone.sum():,} of {len(made):,} times of {measure} are missing: 0, not fixated"
        )
        return made.assign(time_ms=made.time_ms.fillna(0.0))
    warn(path, f"{gone.sum():,} of {len(made):,} responses of {measure} dropped, without a value")
    kept = made[~gone].reset_index(drop=True)
    kept.attrs["missing"] = int(gone.sum())  # counts.csv has it
    return kept
