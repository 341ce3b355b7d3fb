"""Words of an experiment's texts (contract 1): one text per item and condition, regions labelled."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from recency.errors import InputError
from recency.reading.contracts import word_table
from recency.reading.formats.anything import Style
from recency.reading.own.columns import Columns, lacking, natural, read, typed, whole
from recency.reading.own.item_texts import (
    Options,
    Text,
    Texts,
    cell_labels,
    is_structure,
    needed_columns,
    without_fillers,
)
from recency.reading.sentences import sentence_numbers
from recency.reading.strict_tables import Table


def build(
    table: Table,
    columns: Columns,
    options: Options,
    rule: str | None,
    others: Mapping[str, str],
    missing: Sequence[str] | None,
    decimal: str,
) -> pd.DataFrame:
    """Build the words of a table of items.

    Parameters
    ----------
    table : Table
        The rows: one per cell, or several that agree.
    columns : Columns
        The option `columns`.
    options : Options
        Marker, positions, numbers of spillover words.
    rule : str or None
        `punctuation`: sentences are found; otherwise each text is one sentence.
    others : mapping
        Name → further column to keep, where all rows of a cell agree.
    missing : sequence of str or None
        Spellings of a missing value.
    decimal : str
        Decimal mark.

    Returns
    -------
    DataFrame
        Contract 1; `item` is "12 high", and further columns are stimulus and condition (str),
        region (critical, spillover_1 …, None elsewhere) and those kept.

    Raises
    ------
    InputError
        If a critical region is not found, or a cell has two texts.
    """
    cells = cell_labels(table, columns, options)
    item_texts = Texts(table, columns, options)
    texts = item_texts.read()
    text = pd.Series(item_texts.codes, index=cells.index)
    if "stimulus" not in cells:
        numbers = (text + 1).astype(str)
        cells.insert(0, "stimulus", numbers.str.zfill(len(str(len(texts)))))
    key = cells.groupby(list(cells.columns), sort=False).ngroup()
    _one_text_per_cell(table, cells, key, text, texts)
    first = cells[~key.duplicated()]
    order = _order(first)
    kept = _kept(table, columns, others, key, missing, decimal)
    parts = []
    for line in order:
        parts.append(_words_of(first.loc[line], texts[text[line]], options))
    word_rows = pd.concat(parts, ignore_index=True)
    items, words = word_rows["item"].to_numpy(), word_rows["word"].to_numpy()
    sentence = np.cumsum(items != np.roll(items, 1)) if len(order) > 1 else np.ones(len(items), int)
    if rule == "punctuation":
        sentence = sentence_numbers(words, items)
    item_texts = word_table(items, np.asarray(sentence), words)
    lines = np.repeat(order, [len(part) for part in parts])
    extra = kept.loc[lines].reset_index(drop=True)
    return pd.concat([item_texts, word_rows.drop(columns=["item", "word"]), extra], axis=1)


def _words_of(labels: pd.Series, text: Text, options: Options) -> pd.DataFrame:
    """Return a text's words with item, stimulus, condition and region."""
    frame = pd.DataFrame({"word": text.words})
    for name, label in labels.items():
        frame[name] = label
    frame.insert(0, "item", " ".join(labels))
    regions: list[str | None] = [None] * len(text.words)
    for name, region in text.regions(options).items():
        regions[region.start : region.end] = [name] * region.size
    frame["region"] = pd.Series(regions, dtype="object").astype("str").where(pd.notna(regions))
    return frame


def _one_text_per_cell(
    table: Table, cells: pd.DataFrame, key: pd.Series, text: pd.Series, texts: list[Text]
) -> None:
    """Raise InputError, with both rows, if a cell has two texts or two critical regions."""
    first = text.groupby(key, sort=False).transform("first")
    differs = np.array([texts[a] != texts[b] for a, b in zip(text, first, strict=True)])
    if not differs.any():
        return
    line = text.index[int(np.argmax(differs))]
    before = key.index[int(np.argmax(key == key[line]))]
    this_text, other = texts[text[line]], texts[text[before]]
    cell = ", ".join(f"{name} {label}" for name, label in cells.loc[line].items())
    if this_text.words != other.words:
        what = f"has the text {' '.join(this_text.words)!r}, and {' '.join(other.words)!r}"
    else:
        what = f"has the region {_region(this_text)!r}, and {_region(other)!r}"
    table.fail(
        line,
        f"{cell} {what} in line {before} ({differs.sum():,} such rows); correct one of them, or map the "
        "columns that distinguish them: `condition: [condition, frame]`, `stimulus: [list, item]`",
    )


def _region(text: Text) -> str:
    return " ".join(text.words[text.critical.start : text.critical.end])


def _order(first: pd.DataFrame) -> list[int]:
    """Return the cells' first lines, sorted by the number of the stimulus if there is one."""
    numbers = whole(first.stimulus)
    numbers = natural(first.stimulus) if numbers is None else numbers
    if numbers is None:
        numbers = pd.Series(pd.factorize(first.stimulus)[0], index=first.index)
    frame = pd.DataFrame({"number": numbers, "condition": 0}, index=first.index)
    if "condition" in first:
        frame["condition"] = pd.factorize(first.condition)[0]
    return frame.sort_values(["number", "condition"], kind="stable").index.tolist()


def _kept(
    table: Table,
    columns: Columns,
    others: Mapping[str, str],
    key: pd.Series,
    missing: Sequence[str] | None,
    decimal: str,
) -> pd.DataFrame:
    """Return the further columns that are constant within cells; others belong to responses."""
    kept = pd.DataFrame(index=key.index)
    for name, column in others.items():
        if column not in table:
            continue
        differs = table[column] != table[column].groupby(key, sort=False).transform("first")
        if not differs.any():
            kept[name] = typed(table, column, missing, decimal)
        elif name in columns.given:
            line = differs.index[int(np.argmax(differs))]
            table.fail(
                line, f"{column} is {table[column][line]!r}, before it was another of this text"
            )
    return kept


def read_words(
    path: Path,
    style: Style,
    mapped: Columns,
    options: Options,
    rule: str | None,
    others: Mapping[str, str],
    missing: Sequence[str] | None,
    drop: bool,
) -> pd.DataFrame:
    """Read the words of a table of items; rows without labels are fillers if these are dropped."""
    others = {n: c for n, c in others.items() if not is_structure(n)}

    def pick(there: list[str]) -> list[str | None]:
        for name, column in others.items():
            if name in mapped.given and column not in there:
                raise lacking(path, column, there)
        kept = [column for column in others.values() if column in there]
        return [*needed_columns(mapped, path, there), *kept]

    table = read(path, style, mapped, pick)
    table = without_fillers(table, mapped) if drop else table
    return build(table, mapped, options, rule, others, missing, style.decimal)


def refuse(**options: bool) -> None:
    """Raise InputError for an option that does not apply to items."""
    for name, value in options.items():
        if value:
            raise InputError(f"options → {name}: it does not go with `shape: items`; leave it out")
