"""Parser for your own tables, whose columns are mapped in the config.

A file is CSV, TSV or other delimited text, gzipped or not, Parquet, Feather, Excel's .xlsx, R's .rda
and .rds, SPSS's .sav, Stata's .dta, or one of experiment software (`formats.instruments`). The option `columns` maps names to the columns of the file; an omitted name is a column
of the same name, null means that there is none. Words and responses may be in one file; for two files,
`columns: {words: {…}, responses: {…}}` maps columns with different names.

- words: `item` (null: one text), `sentence` (any label; none: see `sentences`), `position` (in the
  sentence or the text, from 0 or 1, or in the whole file; null: the order of the rows), `word`.
- words: `space_after` (optional): true or false, whether a space follows the word in the text.
- responses: `subject` (none: means over readers); `word_id` (from 0, in reading order), or `position`
  with `item` or `sentence`; and each measure (`SPR: my_rt`; default `time_ms`). A measure is a time, 0
  for a word that was not fixated. With a star (`SPR: "rt_*"`) each matching column is a subject, named
  by the part matched by the star.
- responses: `span`, `last_position` or `region` (a label that words have too) for a response to several
  words, beginning with its own.
- any other name: a column to keep, as numbers if possible; with the words if all rows of a word agree,
  otherwise with the responses.

`shape: items` is for experiments: one text per item and condition (`stimulus`, `condition`, and
`sentence`, or `context`, `critical`, `continuation`), with a critical region (`critical`: its words;
`position`; or `marker`) that responses are to; docs/corpora.md.

Further options: `phrases: true`: a row's `word` is several words, with one response to all;
`sentences`: punctuation, or item (one sentence each), without a column of sentences; `missing`:
spellings of missing values; `skipped: true`: a missing time means that the word was not fixated, 0 ms;
`unmatched: dropped`: drop rows of unknown words, such as practice; `rows`: column → values of the rows
to read; `average`: columns, such as electrodes, over which responses are averaged; `unit`: ms or s;
`amplitudes`: measures in microvolts; `scores`: measures without a unit; `separator`, `encoding`,
`decimal`, `thousands`, `percent_encoded`, `trials: true` (a row is a trial, with lists of words and times), `sheet` (of a workbook), `frame` (of R's data), `members` (of a zip archive:
`P{subject}.csv`, concatenated); `parts`: columns within a label, such as
`{stimulus: "{story}.page{page}"}`; `variants: separate`: versions of a text with different words are
separate items; a column mapped to `language` must have one value; `not_first_pass:
{IA_SKIP: "1"}`: words skipped in first pass have 0 ms in all times except TFT.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from readingtimes.contracts import one_of, padded
from readingtimes.errors import InputError
from readingtimes.formats.anything import Style
from readingtimes.joins.index import ORDER
from readingtimes.names import hint
from readingtimes.own import item_rows, item_texts, places, response_values, texts
from readingtimes.own import texts as of_versions
from readingtimes.own.columns import (
    SPACES,
    Columns,
    columns_of,
    labels,
    lacking,
    matching,
    positions,
    read,
    truths,
    typed,
)
from readingtimes.response_names import TIME
from readingtimes.strict_tables import Table, all_visible, only

MEASURES = None
COLUMNS = {
    "words": {
        "region": ("any", "the word's region of its text", {"named": True}),
        "space_after": ("flag", "whether a space follows the word", {"named": True}),
        "sentence_label": ("text", "the sentence's name in the table"),
        "stimulus": ("text", "the item, in all its versions", {"option": ("shape", "items")}),
        "condition": ("text", "the version of the item", {"option": ("shape", "items")}),
    },
    "responses": {
        "span": ("number", "words that the response is to"),
        "words_since_fixation": (
            "number",
            "distance from the word fixated before, words",
            {"option": ("eye_tracking", True)},
        ),
        "previous_fixated": (
            "flag",
            "whether the word before was fixated",
            {"option": ("eye_tracking", True)},
        ),
    },
}

CHOICES = {"shape": ("words", "items"), "variants": ("refused", "separate")}

_UNITS = {"ms": 1.0, "s": 1000.0}


def words(
    files: dict[str, Path],
    *,
    columns: Mapping | None = None,
    rows: Mapping | None = None,
    sentences: str | Mapping | None = None,
    separator: str | None = None,
    encoding: str = "utf-8",
    decimal: str = ".",
    thousands: str = "",
    percent_encoded: bool = False,
    trials: bool = False,
    sheet: str | None = None,
    frame: str | None = None,
    missing: Sequence[str] | None = None,
    phrases: bool = False,
    subjects: Mapping | None = None,
    shape: str = "words",
    marker: str | None = None,
    spillover: int = 2,
    precritical: int = 0,
    join: Mapping[str, str] | None = None,
    unmatched: str = "refused",
    members: str | None = None,
    parts: Mapping[str, str] | None = None,
    variants: str = "refused",
    measures: Sequence[str] = (),
) -> pd.DataFrame:
    """Read the words; rows that repeat a word for another subject must agree.

    `measures` are the names of responses, which are no columns of words to keep.
    """
    path, mapped = only(files, "words of a table"), columns_of(columns, "words", rows)
    one_of("shape", shape, CHOICES["shape"])
    rule = _rule(sentences)
    others = {n: c for n, c in mapped.others().items() if n not in measures}
    style = Style(
        separator, encoding, sheet, frame, decimal, members,
        parts=parts, thousands=thousands, percent_encoded=percent_encoded, trials=trials,
    )  # fmt: skip
    if shape == "items":
        item_rows.refuse(phrases=phrases)
        options = item_texts.Options(marker, spillover, precritical, (join or {}).get("position"))
        drop = unmatched == "dropped"
        return item_rows.read_words(path, style, mapped, options, rule, others, missing, drop)
    wanted = ("subject", "item", "sentence", "position", "word", "space_after", "region")

    def pick(there: list[str]) -> list[str]:
        columns = [mapped.find(name, there) for name in wanted]
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
        return [*columns, *(column for column in others.values() if column in there)]

    table = of_versions.separate(read(path, style, mapped, pick), mapped, variants)
    of_versions.one_language(table, mapped)
    of_words = _rows(table, mapped, phrases, subjects)
    if not of_words.has("position"):
        of_words = texts.by_row_order(of_words)
    kept = _of_words(table, of_words, others, mapped, missing, style)
    return texts.build(of_words, rule, kept, phrases)


def responses(
    files: dict[str, Path],
    words: pd.DataFrame,
    measure: str,
    *,
    columns: Mapping | None = None,
    rows: Mapping | None = None,
    average: Sequence[str] = (),
    separator: str | None = None,
    encoding: str = "utf-8",
    decimal: str = ".",
    thousands: str = "",
    percent_encoded: bool = False,
    trials: bool = False,
    sheet: str | None = None,
    frame: str | None = None,
    missing: Sequence[str] | None = None,
    skipped: bool = False,
    unit: str = "ms",
    amplitudes: Sequence[str] = (),
    scores: Sequence[str] = (),
    shape: str = "words",
    marker: str | None = None,
    regions: Mapping[str, str] | None = None,
    eye_tracking: bool = False,
    unmatched: str = "refused",
    join: Mapping[str, str] | None = None,
    items: Mapping | str | None = None,
    sentences: Mapping | str | None = None,
    subjects: Mapping | None = None,
    members: str | None = None,
    parts: Mapping[str, str] | None = None,
    variants: str = "refused",
    not_first_pass: Mapping | None = None,
) -> pd.DataFrame:
    """Read `measure` in its unit, subject and other mapped columns, in reading order.

    Rows without a value are dropped, and counted on stderr. With `eye_tracking`,
    words_since_fixation and previous_fixated are counted over each subject's words of a text
    (a word without a row was not fixated), unless columns are mapped to them.
    """
    path = only(files, "responses of a table")
    mapped = columns_of(columns, "responses", rows, average)
    one_of("unit", unit, _UNITS)
    one_of("unmatched", unmatched, ("refused", "dropped"))
    one_of("shape", shape, CHOICES["shape"])
    style = Style(
        separator, encoding, sheet, frame, decimal, members,
        parts=parts, thousands=thousands, percent_encoded=percent_encoded, trials=trials,
    )  # fmt: skip
    more = [*(not_first_pass or ())]
    table, time, others = _read(path, style, mapped, measure, words, shape, more)
    table = of_versions.separate(table, mapped, variants)
    if shape == "items" and unmatched == "dropped":
        table = item_texts.without_fillers(table, mapped)
    subject = response_values.read_subjects(table, mapped, subjects)
    value = response_values.value_column(measure, amplitudes, scores)
    values = response_values.read_values(table, time, missing, style, value)
    values = values * (_UNITS[unit] if value == TIME else 1.0)
    values = response_values.without_later_passes(table, values, measure, not_first_pass)
    if shape == "items":
        item_rows.refuse(eye_tracking=eye_tracking)
        others = {n: c for n, c in others.items() if not item_texts.is_structure(n)}
        of_items = item_texts.Options(marker, items=items)
        matched = item_rows.find(
            table, mapped, words, measure, values, of_items, regions, unmatched
        )
    else:
        options = places.Options(
            places.selected(join, items, sentences), items, sentences, unmatched
        )
        times = values if value == TIME else None
        matched = places.find(table, mapped, words, subject, times, options)
    table, subject = Table(table.path, table.frame[matched.kept]), subject[matched.kept]
    result = pd.DataFrame({"subject": padded(subject), "word_id": matched.word_id})
    result[value] = values[matched.kept]
    if (matched.span > 1).any():
        result["span"] = matched.span
    for name, column in others.items():
        kept = typed(table, column, missing, style, name)
        if name in words:
            response_values.require_agreement(table, name, kept, words, matched.word_id)
        else:
            result[name] = kept.to_numpy()
    if average:
        result = response_values.averaged(table, average, result, value)
    else:
        response_values.require_one_response(table, mapped, result, subject)
    result = response_values.sort_by_word(path, result, words)
    if eye_tracking:
        result = response_values.add_fixation_history(result, words, value)
    return response_values.drop_missing(path, result, value, measure, skipped)


def _rule(sentences: str | Mapping | None) -> str | None:
    """Return the option `sentences` for words; a mapping or `order` applies to responses."""
    if sentences is None or isinstance(sentences, Mapping) or sentences == ORDER:
        return None
    one_of("sentences", sentences, (*texts.RULES, ORDER))
    return sentences


def _rows(table: Table, mapped: Columns, phrases: bool, subjects: Mapping | None) -> texts.Rows:
    """Return the columns of a table that describe words."""
    there = list(table.frame.columns)
    frame = pd.DataFrame(index=table.frame.index)
    for name in ("subject", "item", "sentence"):
        if (column := mapped.find(name, there)) is not None:
            names = subjects if name == "subject" else None
            frame[name] = labels(table, column, names, "subjects")
            frame.attrs[name] = column
    if "item" not in frame:
        frame["item"] = "text"
    if (column := mapped.find("position", there)) is not None:
        frame["position"] = positions(table, column)
    column = mapped.find("word", there)
    frame["word"] = all_visible(table[column])
    plain = frame.word.str.replace(SPACES, "", regex=True) if phrases else frame.word
    if (wrong := ~plain.str.fullmatch(r"[^\s\x00-\x1f\x7f]+")).any():
        line, value = frame.index[int(np.argmax(wrong))], frame.word[wrong].iloc[0]
        what = "every row needs its word"
        if value:
            what = "a word has no space inside; rows of several words: `phrases: true`"
        table.fail(line, f"{column} is {value!r}; {what} ({wrong.sum():,} such rows)")
    if (column := mapped.find("space_after", there)) is not None:
        frame["space_after"] = truths(table, column)
        frame.attrs["space_after"] = column
    return texts.Rows(table, frame)


def _of_words(
    table: Table,
    rows: texts.Rows,
    others: Mapping[str, str],
    mapped: Columns,
    missing: Sequence[str] | None,
    style: Style,
) -> pd.DataFrame:
    """Return the columns in which all rows of a word agree; InputError if a required one differs."""
    frame, kept = rows.frame, pd.DataFrame(index=rows.frame.index)
    keys = [frame[name] for name in ("item", "sentence", "position") if name in frame]
    if (region := mapped.find("region", table.frame.columns)) is not None:
        others = {**others, "region": region}
    for name, column in others.items():
        if column not in table or column in (mapped.find("subject", table.frame.columns),):
            continue
        differs = table[column] != table[column].groupby(keys, sort=False).transform("first")
        if not differs.any():
            kept[name] = typed(table, column, missing, style, name)
        elif name in mapped.given or name == "region":
            line = differs.index[int(np.argmax(differs))]
            table.fail(
                line, f"{column} is {table[column][line]!r}, before it was another of this word"
            )
    return kept


def _read(
    path: Path,
    style: Style,
    mapped: Columns,
    measure: str,
    words: pd.DataFrame,
    shape: str,
    more: Sequence[str],
) -> tuple[Table, str, dict[str, str]]:
    """Read the responses; return the table, the column of times, and name → column to keep."""
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
            elif shape == "items" and item_texts.is_structure(name):
                continue
            elif name != measure and name not in words and not matching(column, there):
                way_out = hint(column, there)
                raise InputError(
                    f"{path} has no column {column}, which options → columns → {name} names; {way_out}"
                )
        of_items = [
            item_texts.stimulus_column(mapped, there) if shape == "items" else None,
            *(mapped.find(name, there) for name in item_texts.KEYS if shape == "items"),
        ]
        keys = ["subject", "word_id", "item", "sentence", "position", "word", "last_position"]
        columns = [mapped.find(name, there) for name in (*keys, "span", "region", "length")]
        for name in ("subject", *keys[2:5]):
            if name in mapped.given and mapped.of[name] is not None:
                mapped.needed(name, path, there)
        if "subject" in mapped.of and mapped.of["subject"] is not None and not wide:
            mapped.needed("subject", path, there)
        if lost := [name for name in more if name not in there]:
            raise lacking(path, lost[0], there, "options → not_first_pass names it. ")
        return [*columns, *of_items, *(wide or [chosen["time"]]), *others.values(), *more]

    table = read(path, style, mapped, pick)
    time = chosen["time"]
    others = {n: c for n, c in others.items() if c != time and n != "time_ms"}
    if wide:
        table, time = response_values.long_table(table, wide, time), "time_ms"
    return table, time, {n: c for n, c in others.items() if c in table}


def _time_column(path: Path, mapped: Columns, measure: str, there: list[str]) -> str:
    """Return the column of a measure, or the pattern of its subjects' columns."""
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
