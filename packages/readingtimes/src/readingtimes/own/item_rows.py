"""Match rows of an experiment's responses to regions of texts.

Words of an experiment's texts (contract 1): one text per item and condition, regions labelled.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from readingtimes.contracts import word_table
from readingtimes.errors import InputError
from readingtimes.formats.anything import Style
from readingtimes.joins.index import look_up, spelling
from readingtimes.names import hint
from readingtimes.own.columns import Columns, labels, lacking, natural, read, typed, whole
from readingtimes.own.item_texts import (
    CRITICAL,
    LABEL,
    Options,
    Text,
    Texts,
    cell_labels,
    is_same,
    is_structure,
    needed_columns,
    without_fillers,
)
from readingtimes.own.places import Found
from readingtimes.sentences import sentence_numbers
from readingtimes.strict_tables import Table, warn


@dataclass(frozen=True)
class Cells:
    """Texts of contract 1, with the labels used in responses.

    Attributes
    ----------
    names : list of str
        Label of each text (`item`).
    labels : DataFrame
        Stimulus and condition of each text.
    plain, exact : list of str
        Words of each text without case and punctuation, and as they are.
    critical : list of list of str
        Words of each critical region.
    regions : DataFrame
        First word_id and number of words, by (text's number, region).
    """

    names: list[str]
    labels: pd.DataFrame
    plain: list[str]
    exact: list[str]
    critical: list[list[str]]
    regions: pd.DataFrame = field(repr=False)


def cells_of(words: pd.DataFrame) -> Cells:
    """Return the texts of contract 1.

    Parameters
    ----------
    words : DataFrame
        Contract 1 with stimulus and region, as `item_words.build` returns it.

    Raises
    ------
    InputError
        If the words are of no table of items.
    """
    if not {"stimulus", "region"} <= set(words):
        raise InputError(
            "`shape: items` needs words of a table of items, which have stimulus and region; name its "
            "file under `words:`"
        )
    number = (words["item"] != words["item"].shift()).cumsum() - 1
    first = words[~number.duplicated()]
    names = [name for name in ("stimulus", "condition") if name in words]
    in_critical = words.region == CRITICAL
    critical = words.word[in_critical].groupby(number[in_critical]).agg(list)
    has_region = words.region.notna()
    regions = words[has_region].groupby([number[has_region], "region"]).word_id.agg(["min", "size"])
    plain = words.word.map(spelling).groupby(number).agg(" ".join)
    return Cells(
        first["item"].tolist(),
        first[names].astype(str).reset_index(drop=True),
        plain.str.split().str.join(" ").tolist(),
        words.word.groupby(number).agg(" ".join).tolist(),
        critical.tolist(),
        regions,
    )


def find(
    table: Table,
    columns: Columns,
    words: pd.DataFrame,
    measure: str,
    values: pd.Series,
    options: Options,
    regions: Mapping[str, str] | None = None,
    unmatched: str = "refused",
) -> Found:
    """Find each row's region.

    Rows name their text by `stimulus` and `condition`, by the text itself, or by both, which must
    agree. Critical words that rows have must be those of their text.

    Parameters
    ----------
    table : Table
        The responses.
    columns : Columns
        The option `columns`, of responses.
    words : DataFrame
        Contract 1.
    measure : str
        Its region is critical unless `regions` names another, or the table has a column `region`.
    values : Series
        The responses; a row without a value may be to a region that its text lacks.
    options : Options
        As the words were read.
    regions : mapping, optional
        A measure, or a label of the column `region` → critical, spillover_1 ….
    unmatched : {'refused', 'dropped'}
        Rows of no text, such as fillers.

    Returns
    -------
    Found
        First word and number of words of each region.

    Raises
    ------
    InputError
        Naming the row: if it has no text, if its labels and its words are of different texts, or if
        its text has no such region.
    """
    cells = cells_of(words)
    cell, evidence = _cells(table, columns, cells, options, unmatched == "dropped")
    there = cell >= 0
    if not there.any():
        raise InputError(
            f"{table.path}: no row belongs to a text of the words; {_list_texts(cells)}"
        )
    label = _region_labels(table, columns, measure, regions or {})
    asked = pd.MultiIndex.from_arrays([cell, label])
    regions_asked = cells.regions.reindex(asked).set_axis(table.frame.index)
    absent = regions_asked["min"].isna() & there
    if (wrong := absent & values.notna()).any():
        line = wrong.index[int(np.argmax(wrong))]
        at = int(np.argmax(wrong))
        has = ", ".join(cells.regions.loc[cell[at]].index)
        table.fail(
            line,
            f"text {cells.names[cell[at]]!r} has no region {label.iloc[at]!r} ({wrong.sum():,} such rows); "
            f"it has: {has}. `spillover: 3` makes the three words after the critical ones "
            "regions; where a text ends before, leave the cell empty",
        )
    kept = there & ~absent.to_numpy()
    if (~there).any():
        warn(table.path, f"{(~there).sum():,} rows dropped, of no text of the words")
    if _require_same_words(table, columns, words, regions_asked[kept]):
        evidence += ", and the words of each row"
    lacking = len(cells.names) - len(set(cell[there]))
    note = f"; {lacking:,} texts have no response" if lacking else ""
    warn(table.path, f"{there.sum():,} of {len(cell):,} rows joined by {evidence}{note}")
    regions_asked = regions_asked[kept]
    return Found(regions_asked["min"].astype("int32"), regions_asked["size"].astype("int32"), kept)


def _cells(
    table: Table, columns: Columns, cells: Cells, options: Options, drop: bool
) -> tuple[np.ndarray, str]:
    """Return each row's text (-1: none), and the verification of the join."""
    row_labels = cell_labels(table, columns, options)
    by_label = _by_label(table, row_labels, cells)
    read = _texts(table, columns, options)
    by_text = None if read is None else _by_text(read, cells)
    if by_label is None and by_text is None:
        names = " and ".join(f"`{name}`" for name in cells.labels)
        raise InputError(
            f"{table.path}: rows do not say which text they are to; options → columns must name "
            f"{names}, or `sentence`"
        )
    cell = by_label if by_label is not None else by_text[0]
    if by_label is None and (twice := by_text[1]).any():
        line = table.frame.index[int(np.argmax(twice))]
        table.fail(line, "its text is that of several items; map `stimulus` and `condition`")
    if not drop and (lost := cell < 0).any():
        line = table.frame.index[int(np.argmax(lost))]
        what = ", ".join(f"{n} {v!r}" for n, v in row_labels.loc[line].items()) or "its text"
        table.fail(
            line,
            f"there is no text of {what} ({lost.sum():,} such rows); {_list_texts(cells)}. Correct the labels, "
            "map them (`items: {Boar: 1}`), or leave such rows out: `unmatched: dropped`",
        )
    evidence = []
    if by_label is not None:
        evidence.append(" and ".join(row_labels.columns))
        if by_text is not None:
            _require_same_text(table, read, cells, cell, by_text)
    if by_text is not None:
        evidence.append("the texts")
    if _require_same_critical(table, columns, cells, cell):
        evidence.append("the critical words")
    checked = ", verified by " + " and ".join(evidence[1:]) if evidence[1:] else ""
    if by_label is not None and not checked:
        checked = " alone (map `sentence` or `critical` to verify them)"
    return cell, f"{evidence[0]}{checked}"


def _by_label(table: Table, texts: pd.DataFrame, cells: Cells) -> np.ndarray | None:
    """Return each row's text by stimulus and condition; None if the rows lack a required one."""
    shared = [name for name in cells.labels if name in texts]
    if "stimulus" not in shared or cells.labels.duplicated(shared).any():
        return None
    codes = [look_up(texts[name], cells.labels[name].drop_duplicates().tolist()) for name in shared]
    label_codes = [pd.factorize(cells.labels[name])[0] for name in shared]
    number_of = {key: number for number, key in enumerate(zip(*label_codes, strict=True))}
    return np.array([number_of.get(key, -1) for key in zip(*codes, strict=True)], dtype=np.int64)


def _texts(table: Table, columns: Columns, options: Options) -> Texts | None:
    """Return the rows' texts, None if they have none."""
    frame = table.frame
    if (name := columns.find("sentence", frame.columns)) is not None and (frame[name] == "").all():
        return None
    plain = {n: c for n, c in columns.of.items() if not n.startswith("spillover_")}
    read = Texts(table, Columns(plain, columns.given, columns.several), options)
    return read if read.parts and read.has_text() else None


def _by_text(read: Texts, cells: Cells) -> tuple[np.ndarray, np.ndarray]:
    """Return each row's text by its words (-1: none), and whether several texts match."""
    numbers_of: dict[str, list[int]] = {}
    for number, text in enumerate(cells.plain):
        numbers_of.setdefault(text, []).append(number)
    numbers, several = [], []
    for words in read.plain():
        plain = " ".join(" ".join(map(spelling, words)).split())
        fits = numbers_of.get(plain, [])
        if not fits and plain:  # a text without its context
            fits = [n for n, text in enumerate(cells.plain) if f" {plain} " in f" {text} "]
        if (
            len(fits) > 1
        ):  # texts that differ only in punctuation, such as the comma of a garden path
            text = " ".join(words)
            fits = [n for n in fits if cells.exact[n] == text] or fits
        numbers.append(fits[0] if fits else -1)
        several.append(len(fits) > 1)
    return np.array(numbers, dtype=np.int64)[read.codes], np.array(several)[read.codes]


def _require_same_text(
    table: Table,
    read: Texts,
    cells: Cells,
    cell: np.ndarray,
    by_text: tuple[np.ndarray, np.ndarray],
) -> None:
    """Raise InputError if a row's labels and words belong to different texts."""
    numbers, several = by_text
    plain = [" ".join(" ".join(map(spelling, words)).split()) for words in read.plain()]
    at = np.flatnonzero((cell >= 0) & ((numbers != cell) | several))
    wrong = [n for n in at if f" {plain[read.codes[n]]} " not in f" {cells.plain[cell[n]]} "]
    if not wrong:
        return
    first = wrong[0]
    other = (
        f"which is that of {cells.names[numbers[first]]!r}" if numbers[first] >= 0 else "of no item"
    )
    table.fail(
        table.frame.index[first],
        f"its labels are those of {cells.names[cell[first]]!r}, and its text is "
        f"{' '.join(read.plain()[read.codes[first]])!r}, {other} ({len(wrong):,} such rows); correct the "
        "labels, or join by the texts alone: columns → responses → {stimulus: null}",
    )


def _require_same_critical(table: Table, columns: Columns, cells: Cells, cell: np.ndarray) -> bool:
    """Raise InputError if a row's critical words are another text's; return whether it has any."""
    name = columns.find("critical", table.frame.columns)
    if name is None:
        return False
    pairs = pd.DataFrame({"cell": cell, "own": table[name]}).query("cell >= 0").drop_duplicates()
    for line, number, row_critical in pairs.itertuples():
        if not is_same(row_critical.split(), cells.critical[number]):
            others = [
                cells.names[n]
                for n, words in enumerate(cells.critical)
                if is_same(row_critical.split(), words)
            ]
            of = f", as of {others[0]!r}" if others else ""
            table.fail(
                line,
                f"{name} is {row_critical!r}{of}; the critical region of {cells.names[number]!r} is "
                f"{' '.join(cells.critical[number])!r}; correct the labels or the words",
            )
    return True


def _require_same_words(
    table: Table, columns: Columns, words: pd.DataFrame, of_rows: pd.DataFrame
) -> bool:
    """Raise InputError if a row's words are not those of its region; return whether rows have any."""
    if (name := columns.of.get("word")) is None or name not in table:
        return False
    shown_words = table[name][of_rows.index]
    regions = pd.DataFrame({"first": of_rows["min"], "size": of_rows["size"], "shown": shown_words})
    for line, first, size, shown in (
        regions.astype({"first": int, "size": int}).drop_duplicates().itertuples()
    ):
        there = words.word.iloc[first : first + size].tolist()
        if not is_same(shown.split(), there):
            table.fail(
                line,
                f"{name} is {shown!r}, and its region has {' '.join(there)!r}; correct the labels of the "
                "regions (options → regions), or the words",
            )
    return True


def _region_labels(
    table: Table, columns: Columns, measure: str, regions: Mapping[str, str]
) -> pd.Series:
    """Return each row's region, as labelled in the words."""
    for label, region in regions.items():
        if not LABEL.fullmatch(str(region)):
            raise InputError(
                f"options → regions → {label}: {region!r} is no region; {hint(str(region), _EXAMPLES)}"
                f"There are: {', '.join(_EXAMPLES)} …"
            )
    name = columns.find("region", table.frame.columns)
    if measure in regions or name is None:
        return pd.Series(regions.get(measure, CRITICAL), index=table.frame.index)
    names = {str(label): region for label, region in regions.items()}
    region_labels = labels(table, name).map(lambda label: names.get(label, label))
    if (wrong := ~region_labels.str.fullmatch(LABEL.pattern)).any():
        line = region_labels.index[int(np.argmax(wrong))]
        table.fail(
            line,
            f"{name} is {region_labels[line]!r}, no region ({wrong.sum():,} such rows); map it: "
            f"`regions: {{{region_labels[line]}: spillover_1}}`, or `columns: {{region: null}}`",
        )
    return region_labels


_EXAMPLES = (CRITICAL, "spillover_1", "spillover_2", "precritical_1")


def _list_texts(cells: Cells) -> str:
    """Return a sentence that lists existing texts."""
    shown = ", ".join(map(repr, cells.names[:3]))
    return f"texts are {shown}{' …' if len(cells.names) > 3 else ''} ({len(cells.names):,})"


def build(
    table: Table,
    columns: Columns,
    options: Options,
    rule: str | None,
    others: Mapping[str, str],
    missing: Sequence[str] | None,
    style: Style,
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
    style : Style
        Marks of decimals and thousands.

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
    kept = _constant_columns(table, columns, others, key, missing, style)
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


def _constant_columns(
    table: Table,
    columns: Columns,
    others: Mapping[str, str],
    key: pd.Series,
    missing: Sequence[str] | None,
    style: Style,
) -> pd.DataFrame:
    """Return the further columns that are constant within cells; others belong to responses."""
    kept = pd.DataFrame(index=key.index)
    for name, column in others.items():
        if column not in table:
            continue
        differs = table[column] != table[column].groupby(key, sort=False).transform("first")
        if not differs.any():
            kept[name] = typed(table, column, missing, style)
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
    return build(table, mapped, options, rule, others, missing, style)


def refuse(**options: bool) -> None:
    """Raise InputError for an option that does not apply to items."""
    for name, value in options.items():
        if value:
            raise InputError(f"options → {name}: it does not go with `shape: items`; leave it out")
