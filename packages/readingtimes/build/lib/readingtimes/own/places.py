"""Match rows of responses to words, and determine their spans."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from readingtimes.errors import InputError
from readingtimes.joins import engine
from readingtimes.joins.index import ORDER, plain_label, spelling
from readingtimes.own.columns import Columns, labels, lacking, positions
from readingtimes.strict_tables import Table, warn


@dataclass(frozen=True)
class Options:
    """Options of a table for joining its rows to words."""

    join: Mapping[str, str] = field(default_factory=dict)
    items: Mapping | None = None
    sentences: Mapping | None = None
    unmatched: str = "refused"


@dataclass(frozen=True)
class Found:
    """word_id and span (number of words from there) of each row, indexed by line.

    `kept` (n,) says of all rows which these are.
    """

    word_id: pd.Series
    span: pd.Series
    kept: np.ndarray


def selected(join: Mapping | None, items: object, sentences: object) -> dict[str, str]:
    """Return the option `join`, with `items: order` and `sentences: order`."""
    chosen = dict(join or {})
    if items == ORDER:
        chosen["item"] = ORDER
    if sentences == ORDER:
        chosen["sentence"] = ORDER
    return chosen


def find(
    table: Table,
    columns: Columns,
    words: pd.DataFrame,
    subject: pd.Series,
    values: pd.Series | None,
    options: Options,
) -> Found:
    """Find each row's word: by its region's label, or by the join engine.

    Parameters
    ----------
    words : DataFrame
        Contract 1.
    subject : Series
        Whose row each is.
    values : Series or None
        Reading times, in any unit; None of amplitudes.

    Raises
    ------
    InputError
        If the alignment is not verified, or rows have no word and `unmatched` is refused.
    """
    there = list(table.frame.columns)
    drop = options.unmatched == "dropped"
    if (name := columns.find("region", there)) is not None and "region" in words:
        first, span = _regions(table, columns, words, name, options)
    else:
        units = _phrases(words) if "phrase" in words else words
        joined = _by_keys(table, columns, units, subject, values, options)
        rows = pd.Series(joined.row, index=table.frame.index)
        rows = rows.where((joined.row >= 0) & ~joined.misplaced)
        first = rows.map(units.word_id.reset_index(drop=True))
        span = rows.map(units.span) if "phrase" in words else None
    kept = first.notna().to_numpy()
    if not drop or not kept.any():
        _all_there(table, first)
    elif not kept.all():
        table = table.without(first.isna(), "to words that there are not")
        first = first[kept]
    if span is None:
        span = _spans(table, columns, words, first)
    else:
        span = span[kept].astype("int32")
    return Found(first.astype("int32"), span, kept)


def _phrases(words: pd.DataFrame) -> pd.DataFrame:
    """Return phrases as if they were words, with the word_id and span of their words."""
    groups = words.groupby("phrase", sort=False)
    first_rows = groups.first()
    first_rows["word"], first_rows["span"] = groups.word.agg(" ".join), groups.size()
    first_rows["position"] = first_rows.groupby("sentence", sort=False).cumcount() + 1
    return first_rows.reset_index()


def _by_keys(
    table: Table,
    columns: Columns,
    words: pd.DataFrame,
    subject: pd.Series,
    values: pd.Series | None,
    options: Options,
) -> engine.Join:
    """Join rows to words by the keys that the table has; rows of another word have none."""
    there = list(table.frame.columns)
    rows = pd.DataFrame(index=table.frame.index)
    for name, names in (("item", options.items), ("sentence", options.sentences)):
        if (column := columns.find(name, there)) is not None:
            rows[name] = labels(table, column, names, f"{name}s")
    for name in ("word_id", "position"):
        if (column := columns.find(name, there)) is not None:
            rows[name] = positions(table, column)
    if (column := columns.find("length", there)) is not None:
        rows["length"] = table.numbers(column)
    for name in ("word", *(["unique_id"] if "unique_id" in words else [])):
        if (column := columns.find(name, there)) is not None:
            rows[name] = table[column]
    if rows.columns.isin(["word_id", "unique_id", "item", "sentence"]).sum() == 0 and (
        words["item"].nunique() > 1 or "position" not in rows
    ):
        raise InputError(
            f"{table.path} has neither a column {columns.name('word_id')} nor "
            f"{columns.name('sentence')}: options → columns must name word_id, or sentence and "
            "position, or item and position"
        )
    chosen = dict(options.join)
    if not rows.columns.isin(["position", "word_id", "unique_id"]).any():
        if columns.name("position") is not None:
            way = "or map `position: null`, to count the rows as they stand. "
            raise lacking(table.path, columns.name("position"), there, way)
        if "word" in rows:
            rows["reader"] = subject
        else:
            text = [subject, *(rows[name] for name in ("item", "sentence") if name in rows)]
            rows["position"] = subject.groupby(text, sort=False).cumcount() + 1
            _whole_texts(table, words, rows, subject)
            chosen.setdefault("position", "from 1")
    if values is not None:
        rows["value"] = values
    kind = None if values is None else "time"
    joined = engine.join(
        words, rows, table.path, chosen=chosen, kind=kind, partial=options.unmatched == "dropped"
    )
    if joined.misplaced.any() and options.unmatched != "dropped":
        at = int(np.argmax(joined.misplaced))
        table.fail(
            rows.index[at],
            f"{columns.find('word', there)} is {rows['word'].iloc[at]!r}, the words have "
            f"{words.word.iloc[joined.row[at]]!r} there ({joined.misplaced.sum():,} such rows); correct "
            "the file, or leave these rows out: `unmatched: dropped`",
        )
    warn(table.path, f"joined by {joined.report}")
    return joined


def _whole_texts(table: Table, words: pd.DataFrame, rows: pd.DataFrame, subject: pd.Series) -> None:
    """Raise InputError unless each reading has as many rows as its text, if only their order aligns them."""
    parts = [name for name in ("item", "sentence") if name in rows]
    labels = words[parts].astype(str)
    if "sentence" in parts and "sentence_label" in words:
        labels = labels.assign(sentence=words.sentence_label)
    length = labels.groupby(parts, sort=False).size().rename("size").reset_index()
    spelled = rows[parts].apply(lambda column: column.map(plain_label))
    length[parts] = length[parts].apply(lambda column: column.map(plain_label))
    expected = spelled.merge(length, on=parts, how="left")["size"].set_axis(rows.index)
    text = [subject, *(rows[name] for name in parts)]
    got = subject.groupby(text, sort=False).transform("size")
    wrong = got != expected
    if wrong.any():
        first_wrong = int(np.argmax(wrong))
        full = "no" if np.isnan(expected.iloc[first_wrong]) else f"{expected.iloc[first_wrong]:.0f}"
        table.fail(
            rows.index[first_wrong],
            f"subject {subject.iloc[first_wrong]} has {got.iloc[first_wrong]} rows of a text of {full} words, and "
            "no position says which; map `position`, or `word`",
        )


def _spans(table: Table, columns: Columns, words: pd.DataFrame, first: pd.Series) -> pd.Series:
    """Return each response's span in words, default 1."""
    there = list(table.frame.columns)
    if (name := columns.find("span", there)) is not None:
        span = table.numbers(name, integer=True, minimum=1)
    elif (name := columns.find("last_position", there)) is not None:
        begin = columns.needed("position", table.path, there)
        span = positions(table, name) - positions(table, begin) + 1
    else:
        return pd.Series(1, index=first.index, dtype="int32")
    item = words["item"].to_numpy()
    last = np.clip(first.to_numpy(dtype=int) + span.to_numpy() - 1, 0, len(words) - 1)
    inside = (first.to_numpy(dtype=int) + span.to_numpy() <= len(words)) & (span.to_numpy() > 0)
    wrong = ~inside | (item[last] != item[first.to_numpy(dtype=int)])
    if wrong.any():
        first_wrong = int(np.argmax(wrong))
        table.fail(
            first.index[first_wrong],
            f"{name} is {table[name].iloc[first_wrong]!r}: the region ends before it begins, or beyond its text",
        )
    return span.astype("int32")


def _regions(
    table: Table, columns: Columns, words: pd.DataFrame, name: str, options: Options
) -> tuple[pd.Series, pd.Series]:
    """Find regions by item, sentence and label: first word and number of words per row.

    Labels must be those of the words. Only rows of whole items that the words lack may have no
    region: a sentence that is missing says that sentences are numbered otherwise.
    """
    there = list(table.frame.columns)
    rows, word_keys = pd.DataFrame(index=table.frame.index), pd.DataFrame(index=words.index)
    sentence = "sentence_label" if "sentence_label" in words else "sentence"
    for key, label, names in (
        ("item", "item", options.items),
        ("sentence", sentence, options.sentences),
    ):
        if (column := columns.find(key, there)) is not None:
            rows[key] = labels(table, column, names, f"{key}s").map(plain_label)
            word_keys[key] = words[label].astype(str).map(plain_label)
    if rows.empty and words["item"].nunique() > 1:
        raise InputError(
            f"{table.path}: regions are labels within a text; options → columns must name the item"
        )
    rows["region"] = labels(table, name).map(plain_label)
    word_keys["region"] = words.region.astype("str").map(plain_label)
    inside = words.region.notna().to_numpy()
    groups = words[inside].groupby([word_keys[key][inside] for key in word_keys], sort=False)
    spans = groups.agg(first=("word_id", "min"), last=("word_id", "max"), size=("word", "size"))
    split = spans["last"] - spans["first"] + 1 != spans["size"]
    if split.any():
        where = " ".join(np.atleast_1d(split.index[int(np.argmax(split))]))
        raise InputError(
            f"the words of region {where} do not stand side by side in the words' table"
        )
    asked = rows["region"] if len(rows.columns) == 1 else pd.MultiIndex.from_frame(rows)
    spans = spans.assign(text=groups.word.agg(" ".join)).reindex(asked).set_axis(rows.index)
    absent = spans["first"].isna()
    items = rows["item"].isin(word_keys["item"]) if "item" in rows else pd.Series(True, rows.index)
    if (wrong := absent & items).any():
        line = wrong.index[int(np.argmax(wrong))]
        row = ", ".join(f"{key} {value!r}" for key, value in rows.loc[line].items())
        table.fail(line, f"{row}: there is no such region in the words ({wrong.sum():,} such rows)")
    if (column := columns.find("word", there)) is not None:
        shown = table[column].map(spelling)
        other = (shown != spans["text"].fillna("").map(spelling)) & ~absent & (shown != "")
        if other.any():
            line = other.index[int(np.argmax(other))]
            table.fail(
                line,
                f"{column} is {table[column][line]!r}, the region has {spans['text'][line]!r} "
                f"({other.sum():,} such rows)",
            )
    return spans["first"], spans["size"]


def _all_there(table: Table, ids: pd.Series) -> None:
    if (missing := ids.isna()).any():
        line = ids.index[int(np.argmax(missing))]
        table.fail(line, f"there is no such word in the words ({missing.sum():,} such rows)")
