"""Build texts from a table's rows: words in reading order, and sentences.

Texts with several versions between readers, in words or areas.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from readingtimes.contracts import word_table
from readingtimes.errors import InputError
from readingtimes.own.columns import Columns, labels, natural, whole
from readingtimes.sentences import sentence_numbers
from readingtimes.strict_tables import Table, first_rows, warn

RULES = ("punctuation", "item")


@dataclass(frozen=True)
class Rows:
    """Columns that describe each row's word; the frame's index is the line.

    Columns of `frame`: item, word, perhaps sentence (labels), position (whole numbers), subject,
    space_after.
    """

    table: Table
    frame: pd.DataFrame

    def has(self, name: str) -> bool:
        """Return whether a column exists."""
        return name in self.frame


def by_row_order(rows: Rows) -> Rows:
    """Count each subject's words of a text by the order of their rows, from 1."""
    frame = rows.frame
    text = [name for name in ("subject", "item", "sentence") if name in frame]
    key = frame[text].sort_values("subject", kind="stable") if "subject" in frame else frame[text]
    new = (key != key.shift()).any(axis=1)
    if (again := key[new].duplicated()).any():
        line = again.index[int(np.argmax(again))]
        where = " of ".join(str(frame[name][line]) for name in reversed(text[-2:]))
        rows.table.fail(
            line,
            f"the text {where} begins again: without positions the order of rows is that of words; map "
            "what tells the two apart (`item: [list, item]`), or sort the rows",
        )
    return Rows(rows.table, frame.assign(position=frame.groupby(text, sort=False).cumcount() + 1))


def build(
    rows: Rows, rule: str | None, extras: pd.DataFrame, phrases: bool = False
) -> pd.DataFrame:
    """Build contract 1 from rows with positions; rows that repeat a word must agree.

    `rule` says how sentences are found where there is no column of them: by punctuation, or one an
    item. `extras` (the rows' index) are kept. With `phrases` a row's word is split at spaces, and
    `phrase` is the number (from 0, in the whole file) of the row that a word is of. Raises InputError, with the line, at a word that is
    two, a gap in positions, and texts whose order cannot be told.
    """
    first = _words(rows)
    ordered = _order_words(rows, first)
    if phrases:
        ordered = ordered.assign(phrase=np.arange(len(ordered), dtype="int32"))
        ordered = ordered.assign(word=ordered.word.str.split()).explode("word")
    words, items = ordered.word.to_numpy(), ordered["item"].to_numpy()
    label = None
    if "sentence" not in ordered:
        if rule == "item":
            numbers = np.cumsum(ordered["item"] != ordered["item"].shift())
        else:
            numbers = sentence_numbers(words, items)
    else:
        numbers, label = _number_sentences(ordered)
    words_table = word_table(items, np.asarray(numbers), words)
    for name in [name for name in ("space_after", "phrase") if name in ordered]:
        words_table[name] = ordered[name].to_numpy()
    if label is not None:
        words_table["sentence_label"] = pd.Series(label, dtype="str")
    lines = ordered.index
    return pd.concat([words_table, extras.loc[lines].reset_index(drop=True)], axis=1)


def _words(rows: Rows) -> pd.DataFrame:
    """Return the first row of each word."""
    frame, table = rows.frame, rows.table
    keys = [name for name in ("item", "sentence", "position") if name in frame]
    same = [name for name in ("word", "space_after") if name in frame]
    first, other = first_rows(frame[[*keys, *same]], keys, same)
    if len(other):
        row = other.iloc[0]
        text = f"sentence {row.sentence} of {row['item']}" if "sentence" in frame else row["item"]
        where = f"word {row.position} of {text}"
        if row.word == row.word_first:
            table.fail(row.name, f"{where}: {table_name(rows, 'space_after')} differs")
        table.fail(
            row.name,
            f"{where} is {row.word!r}, before it was {row.word_first!r}"
            + f" ({len(other):,} such rows)" * (len(other) > 1)
            + "; "
            + _way_out(rows, keys, len(other.drop_duplicates(keys))),
        )
    return first


def _way_out(rows: Rows, keys: list[str], wrong: int) -> str:
    """Return how to correct words that differ at `wrong` places of texts."""
    frame, item = rows.frame, rows.frame.attrs.get("item")
    if wrong == 1:
        return "correct the word or its position, or map what tells the two texts apart"
    few = min(frame[name].nunique() for name in ("subject", "item") if name in frame)
    for name, column in rows.table.frame.items():
        if 1 < column.nunique() < few and name not in (item, frame.attrs.get("subject")):
            words = frame[[*keys, "word"]].assign(version=column).drop_duplicates()
            if not words.duplicated([*keys, "version"]).any():
                both = f"[{item}, {name}]" if item else name
                return f"{name} tells the two texts apart: `item: {both}`"
    return "map the columns that tell texts and sentences apart"


def table_name(rows: Rows, what: str) -> str:
    """Return a column's original name for errors, from the frame's attributes."""
    return rows.frame.attrs.get(what, what)


def _order_words(rows: Rows, first: pd.DataFrame) -> pd.DataFrame:
    """Sort words in reading order, and check that none is missing between two others."""
    unit = _unit(rows, first)
    first = first.copy()
    if unit == "file":
        first["_item"] = first.groupby("item", sort=False).position.transform("min")
    else:
        first["_item"] = _order(rows, first, "item", ["item"])
    if "sentence" in first:
        if unit != "sentence":
            runs = first.sort_values(["_item", "position"], kind="stable")
            new = (runs.sentence != runs.sentence.shift()) | (runs["item"] != runs["item"].shift())
            split = runs[new].duplicated(["item", "sentence"])
            if split.any():
                rows.table.fail(
                    split.index[split][0],
                    f"sentence {runs.sentence[split.index[split][0]]} is in two places of its text",
                )
            first["_sentence"] = 0
        else:
            first["_sentence"] = _order(rows, first, "sentence", ["item", "sentence"])
            number = whole(first.sentence)
            if (
                number is not None
                and first.groupby("sentence", sort=False)["item"].nunique().max() == 1
            ):
                begin = number.groupby(first["item"], sort=False).transform("min")
                inside = first.assign(n=number, b=begin).sort_values(["b", "item", "n"])
                if (
                    inside.n.is_monotonic_increasing
                ):  # numbers that continue across texts determine their order
                    first["_item"] = begin
        keys = ["_item", "item", "_sentence", "position"]
    else:
        keys = ["_item", "item", "position"]
    return first.sort_values(keys, kind="stable").drop(
        columns=["_item", "_sentence"], errors="ignore"
    )


def _unit(rows: Rows, first: pd.DataFrame) -> str:
    """Return whether positions count within sentences, items or the file; InputError if words are missing.

    Across the file, no number is of two texts, and the words of each have all numbers from its first.
    """
    units = (["sentence"] if "sentence" in first else []) + ["item"]
    if first["item"].nunique() > 1 and not first.position.duplicated().any():
        units.append("file")
    problems = []
    for unit in units:
        ordered = first.sort_values("position", kind="stable")
        of = ordered.groupby(["item", "sentence"] if unit == "sentence" else ["item"], sort=False)
        base = min(int(first.position.min()), 1)
        if unit == "file":
            base = of.position.transform("min")
        wrong = ordered.position != of.cumcount() + base
        if not wrong.any():
            return unit
        line = min(ordered.index[wrong], key=lambda at: (int(first.position[at]), at))
        problems.append((int(wrong.sum()), "item" if unit == "file" else unit, line))
    _, unit, line = min(problems, key=lambda problem: problem[0])
    name = first.sentence[line] if unit == "sentence" else first["item"][line]
    rows.table.fail(
        line,
        f"{unit} {name} has no word before {first.position[line]}; a language model reads whole "
        "texts: add the words that lack, or map `position: null` to count the rows as they stand",
    )


def _order(rows: Rows, first: pd.DataFrame, name: str, keys: list[str]) -> pd.Series:
    """Return the rank of texts or sentences, by number, or by the order of their rows."""
    by = whole(first[name])
    by = natural(first[name]) if by is None else by
    if by is not None:
        return by
    frame = rows.frame
    positions = pd.Series(np.arange(len(frame)), index=frame.index)
    if name == "sentence":
        _contiguous(rows)
    begin = positions.groupby([frame[key] for key in keys], sort=False).min().rename("_begin")
    return first.join(begin, on=keys)["_begin"]


def _contiguous(rows: Rows) -> None:
    """Raise InputError unless the order of rows determines the order of unnumbered sentences."""
    frame = rows.frame
    reader = frame["subject"] if "subject" in frame else pd.Series("", index=frame.index)
    key = pd.DataFrame({"reader": reader, "item": frame["item"], "sentence": frame.sentence})
    new = (key != key.shift()).any(axis=1)
    again = key[new].duplicated()
    if again.any():
        line = again.index[int(np.argmax(again))]
        rows.table.fail(
            line,
            f"sentence {frame.sentence[line]} of {frame['item'][line]} begins again: rows are out of "
            "order, and sentences without numbers can be ordered by rows alone; sort the file",
        )
    runs = key[new]
    rank = runs.groupby(["reader", "item"], sort=False).cumcount()
    spread = rank.groupby([runs["item"], runs.sentence], sort=False).nunique()
    if (spread > 1).any():
        item, sentence = spread.index[int(np.argmax(spread > 1))]
        raise InputError(
            f"{rows.table.path}: sentence {sentence} of {item} has another place with one subject "
            "than with another; number the sentences of a text in reading order"
        )


def _number_sentences(ordered: pd.DataFrame) -> tuple[np.ndarray, np.ndarray | None]:
    """Return sentence numbers across the file: the given ones, or from 1 with labels kept."""
    new = (ordered.sentence != ordered.sentence.shift()) | (
        ordered["item"] != ordered["item"].shift()
    )
    sentence_numbers = whole(ordered.sentence)
    if sentence_numbers is not None and not ordered.sentence[new].duplicated().any():
        return sentence_numbers.to_numpy(), None
    return np.cumsum(new.to_numpy()), ordered.sentence.to_numpy()


#: The values of the option `variants`.
VARIANT_RULES = ("refused", "separate")
_MARK = "variant"


def separate(table: Table, columns: Columns, rule: str) -> Table:
    """Make each version of a text a separate item, with the option `variants`.

    A version is a sequence of words that one or more subjects read under one label of the item. The
    one that most subjects read keeps the label; the others are called `<item> variant 2` and so on.

    Parameters
    ----------
    table : Table
        Rows of words by subject, with columns of the item, the subject, the position and the word.
    columns : Columns
        Which column is what.
    rule : str
        `separate`, or `refused`: the table is returned as it is.

    Raises
    ------
    InputError
        If a column that this needs is not mapped.
    """
    if rule == "refused":
        return table
    there = list(table.frame.columns)
    names = {n: columns.find(n, there) for n in ("item", "subject", "sentence", "position", "word")}
    for name in ("item", "subject", "position", "word"):
        if names[name] is None:
            raise InputError(
                f"options → variants: separate needs a column {name} of the responses; map it in "
                "options → columns"
            )
    keys = ["item", "subject", "sentence", "position", "word"]
    rows = pd.DataFrame({n: labels(table, names[n]).to_numpy() for n in keys if names[n]})
    reading = ["item", "subject"]
    # The sum of the hashes of a reading's rows is the same whatever their order.
    unit = [name for name in keys if name in rows and name != "subject"]
    rows["hash"] = pd.util.hash_pandas_object(rows[unit], index=False).to_numpy()
    digest = rows.groupby(reading, sort=False).hash.sum()
    counts = digest.reset_index().groupby(["item", "hash"], sort=False).size().rename("n")
    ranked = counts.reset_index().sort_values(["item", "n"], ascending=[True, False], kind="stable")
    ranked["version"] = ranked.groupby("item", sort=False).cumcount() + 1
    if (ranked.version == 1).all():
        return table
    version = ranked.set_index(["item", "hash"]).version
    of_reading = pd.Series(version.reindex(pd.MultiIndex.from_frame(digest.reset_index()[["item", "hash"]])).to_numpy(), digest.index)  # fmt: skip
    of_row = of_reading.reindex(pd.MultiIndex.from_frame(rows[reading])).to_numpy()
    other = of_row > 1
    warn(
        table.path,
        f"{(ranked.version > 1).sum():,} versions of {ranked[ranked.version > 1]['item'].nunique():,} "
        f"texts, read by {(of_reading > 1).sum():,} of {len(of_reading):,} readings, are items of their own",
    )
    label = rows["item"].where(
        ~other, rows["item"] + f" {_MARK} " + pd.Series(of_row).astype("str")
    )
    frame = table.frame.assign(**{names["item"]: label.astype("str").to_numpy()})
    return type(table)(**{**table.__dict__, "frame": frame})


def one_language(table: Table, columns: Columns) -> None:
    """Raise InputError if the rows of a dataset have several languages (`columns: {language: …}`)."""
    name = columns.of.get("language")
    if name is None or name not in table:
        return
    codes = sorted(table[name].unique())
    if len(codes) > 1:
        raise InputError(
            f"{table.path} has several languages in {name} ({', '.join(codes[:20])}); a dataset has "
            f"one: choose it with `rows: {{{name}: {codes[0]}}}` in its options"
        )
