"""Compute reading measures per word from fixations and areas of interest of any corpus.

Rows are fixations in temporal order. `columns` maps to the columns of the table: `subject`; `item` (the
text; several columns form one label); `duration`; and the fixated word, either `position` (its number
in the text, from `first`) or `x` and `y` (pixels; the areas have `left`, `right`, `top` and `bottom`).
Optional: `word` (the fixated word, verifies the alignment), `onset` (orders fixations), `trial` (for
texts that are read again: first-pass times are of the first trial only).

words: role `areas`, a table of the words of each text, read as by the parser `table` with the options
under `areas:`; by default, words of the fixations' column `word`.

responses: role `fixations`; also `areas` if words are found by pixels.

Options: `first`: number of a text's first word; `ignored`: labels of `word` that are not words
(buttons); `unit`: ms or s; `unmatched: dropped`: drop fixations on unknown words or texts; `rows`,
`members`, `separator`, `encoding`, `missing`, `frame`, `sheet` as in `table`. Fixations off the text
are dropped and do not end a pass, as in pymovements.

Responses have every word of a text that a subject read (0 ms: not fixated), `words_since_fixation` and
`previous_fixated`, computed over words in reading order by first pass.

Read large tables of fixations: labels as codes, numbers as arrays, rows in their order.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import compute

from readingtimes import fixations
from readingtimes.contracts import one_of, padded
from readingtimes.errors import InputError
from readingtimes.formats import anything, rda, streamed, xlsx
from readingtimes.formats.anything import Style
from readingtimes.joins.index import spelling
from readingtimes.names import hint, nearest
from readingtimes.own import texts
from readingtimes.own.columns import MISSING, MISSING_LABELS, labels
from readingtimes.parsers import table as tables
from readingtimes.strict_tables import Table, warn

#: Further spellings of a missing number in eye trackers' reports.
UNDEFINED = ("UNDEFINEDnull", "UNDEFINED")
# Windows quotes and dashes decoded as Latin-1, which are control characters.
_CONTROLS = {
    code: bytes([code]).decode("cp1252")
    for code in range(0x80, 0xA0)
    if code not in (0x81, 0x8D, 0x8F, 0x90, 0x9D)
}


@dataclass(frozen=True)
class Labels:
    """A column of labels as distinct values and codes, -1 for missing."""

    values: list[str]
    codes: np.ndarray

    def take(self, rows: np.ndarray) -> "Labels":
        """Return the labels of some rows."""
        return Labels(self.values, self.codes[rows])


def read(
    path: Path,
    style: Style,
    named: Mapping[str, list[str]],
    numbers: Mapping[str, str],
    missing: Sequence[str] | None = None,
) -> tuple[dict[str, Labels], dict[str, np.ndarray], np.ndarray]:
    """Read labels and numbers of a table.

    Parameters
    ----------
    path : Path
        Delimited text, or a zip archive with tables (`style.members`); or any other table of
        `formats.anything`, which is then held whole.
    style : Style
        How the file is read.
    named : mapping of str to list of str
        Name → the columns that are one label together.
    numbers : mapping of str to str
        Name → the column of numbers; float64, NaN where one is missing.
    missing : sequence of str, optional
        Spellings of a missing value.

    Returns
    -------
    tuple
        Name → Labels, name → array (n,), and the line of each row (n,).

    Raises
    ------
    InputError
        For a column that is not there, and a value that is no number.
    """
    missing = [*MISSING, *UNDEFINED] if missing is None else ["", *map(str, missing)]
    wanted = list(dict.fromkeys([*(c for cs in named.values() for c in cs), *numbers.values()]))
    parts = [_part(source, style, wanted, set(numbers.values()), missing) for source in _sources(path, style)]  # fmt: skip
    parts = [part for part in parts if len(part[1])]  # a member of an archive may have no row
    if not parts:
        which = "check options → rows" if _rows(style) else "it has none"
        raise InputError(f"{path}: no row is left; {which}")
    columns = {name: _join_blocks([part[0][name] for part in parts]) for name in wanted}
    lines, before = [], 0
    for _, part_labels in parts:
        lines.append(part_labels + before)
        before = int(lines[-1][-1])
    joined = {name: _one_label(path, [columns[c] for c in cs]) for name, cs in named.items()}
    return joined, {name: columns[c] for name, c in numbers.items()}, np.concatenate(lines)


def _sources(path: Path, style: Style) -> list:
    """Return the file, or the members of an archive."""
    if not path.is_file():
        raise InputError(f"{path} cannot be read: no such file")
    if style.members and streamed.is_archive(path):
        return streamed.members(path, style.members)
    return [path]


def _part(
    source: object, style: Style, wanted: list[str], numbers: set[str], missing: list[str]
) -> tuple[dict[str, object], np.ndarray]:
    """Read one table: column → Labels or array, and the rows' lines."""
    member = source if isinstance(source, streamed.Member) else None
    path = member.path if member else source
    if member is None and (rda.is_r_data(path) or xlsx.is_workbook(path) or _is_columnar(path)):
        table = anything.read(path, style, lambda header: present(path, header, wanted))
        return _of_text(table, wanted, numbers, missing), table.frame.index.to_numpy()
    open_ = member.open if member else partial(streamed.opened, path)
    header, separator, quoted = streamed.header_of(path, open_, style.separator, style.encoding)
    stated = {n: v for n, v in (member.labels if member else {}).items() if n not in header}
    rows = _rows(style)
    in_header = [n for n in present(path, [*header, *stated], [*wanted, *rows]) if n not in stated]
    text = pa.dictionary(pa.int32(), pa.string())
    types = {n: pa.float64() if n in numbers and n not in rows else text for n in in_header}
    streamed.once(path, header, in_header)
    columns: dict[str, list] = {name: [] for name in wanted}
    lines = []
    arguments = (path, open_, header, separator, quoted, style.encoding, types, missing)
    for batch, line in streamed.blocks(*arguments):
        keep = np.ones(batch.num_rows, dtype=bool)
        for name, values in rows.items():
            if name in stated:
                keep &= stated[name] in values
                continue
            labels_there = batch[name].dictionary.to_pylist()
            good = np.array([value.strip() in values for value in labels_there], dtype=bool)
            keep &= good[batch[name].indices.to_numpy()] if len(good) else False
        lines.append(line + np.flatnonzero(keep))
        for name in wanted:
            columns[name].append(_block(batch, name, keep, stated, numbers))
    return {n: _join_blocks(blocks) for n, blocks in columns.items()}, np.concatenate(lines or [[]])


def _block(
    batch: pa.RecordBatch, name: str, keep: np.ndarray, stated: Mapping, numbers: set[str]
) -> object:
    """Return one column of a block: Labels or an array."""
    if name in stated:
        if name in numbers:
            return np.full(int(keep.sum()), float(stated[name]))
        return Labels([stated[name]], np.zeros(int(keep.sum()), dtype=np.int32))
    column = batch[name]
    if not pa.types.is_dictionary(column.type):
        values = compute.fill_null(column, float("nan"))
        return values.to_numpy(zero_copy_only=False)[keep]
    values = [value.strip() for value in column.dictionary.to_pylist()]
    return Labels(values, column.indices.to_numpy().astype(np.int32)[keep])


def _join_blocks(parts: list) -> object:
    """Concatenate the blocks of a column."""
    if not parts or isinstance(parts[0], np.ndarray):
        return np.concatenate(parts) if parts else np.empty(0)
    codes_of: dict[str, int] = {}
    codes = []
    for part in parts:
        new_codes = np.array(
            [codes_of.setdefault(v, len(codes_of)) for v in part.values], dtype=np.int32
        )
        codes.append(new_codes[part.codes] if len(new_codes) else part.codes)
    return Labels(list(codes_of), np.concatenate(codes))


def _one_label(path: Path, parts: list[Labels]) -> Labels:
    """Combine several columns to one label, as in `own.columns.labels`; "" is -1."""
    codes = parts[0].codes.astype(np.int64)
    for part in parts[1:]:
        codes = codes * max(len(part.values), 1) + part.codes
    numbers, unique = pd.factorize(codes)
    texts: list[list[str]] = []
    for part in reversed(parts):
        unique, part_codes = np.divmod(unique, max(len(part.values), 1))
        texts.append([part.values[code] for code in part_codes])
    texts.reverse()
    gone = np.array([any(t in MISSING_LABELS for t in row) for row in zip(*texts, strict=True)])
    columns = []
    for code in texts:
        table = Table(path, pd.DataFrame({"label": [t for t, g in zip(code, gone, strict=True) if not g]}, dtype="str"))  # fmt: skip
        columns.append(labels(table, "label").tolist() if len(table.frame) else [])
    values = [" ".join(row).translate(_CONTROLS) for row in zip(*columns, strict=True)]
    code_of: dict[str, int] = {}
    kept = [code_of.setdefault(value, len(code_of)) for value in values]
    part_codes = np.full(len(gone), -1, dtype=np.int32)
    part_codes[~gone] = kept
    return Labels(list(code_of), part_codes[numbers])


def _of_text(table: Table, wanted: list[str], numbers: set[str], missing: list[str]) -> dict:
    """Return the columns of a table of text as Labels or arrays."""
    columns: dict[str, object] = {}
    for name in wanted:
        if name in numbers:
            columns[name] = table.numbers(name, minimum=None, missing=missing).to_numpy("float64")
        else:
            codes, values = pd.factorize(table[name])
            columns[name] = Labels([str(v) for v in values], codes.astype(np.int32))
    return columns


def present(path: Path, header: list[str], wanted: list[str]) -> list[str]:
    """Return the requested columns; InputError for the first missing one."""
    for name in wanted:
        if name not in header:
            listed = ", ".join(header[:20]) + (", …" if len(header) > 20 else "")
            raise InputError(
                f"{path} has no column {name}; {hint(name, header)}options → columns maps those of "
                f"your file. It has: {listed}"
            )
    return list(dict.fromkeys(wanted))


def _rows(style: Style) -> dict[str, list[str]]:
    """Return the option `rows` as column → values to keep."""
    values = {n: v if isinstance(v, list) else [v] for n, v in (style.rows or {}).items()}
    return {str(name): [str(value) for value in listed] for name, listed in values.items()}


def _is_columnar(path: Path) -> bool:
    """Return whether a file is Parquet or Feather."""
    with open(path, "rb") as file:
        return file.read(4) in (b"PAR1", b"ARRO")


def in_order(
    path: Path,
    subject: np.ndarray,
    item: np.ndarray,
    trial: np.ndarray | None,
    onset: np.ndarray | None,
) -> np.ndarray:
    """Return the order of fixations by reading, then by trial and onset if given."""
    reading = subject.astype(np.int64) * (int(item.max(initial=0)) + 1) + item
    rank = pd.factorize(reading)[0]
    keys = [np.arange(len(rank)), rank]
    if onset is not None:
        keys.insert(1, np.where(np.isfinite(onset), onset, -1.0))
    if trial is not None:
        keys.insert(
            len(keys) - 1, pd.factorize(rank.astype(np.int64) * (int(trial.max()) + 2) + trial)[0]
        )
    step = np.zeros(max(len(rank) - 1, 0), dtype=np.int8)
    for key in keys[1:][::-1]:  # the first key that differs decides
        step = np.where(step == 0, np.sign(np.diff(key)).astype(np.int8), step)
    if not (step < 0).any():
        return keys[0]
    order = np.lexsort(keys)
    warn(path, f"{int((order != keys[0]).sum()):,} fixations were out of order, and are sorted")
    return order


def once(path: Path, order: np.ndarray, line: np.ndarray, *keys: np.ndarray | None) -> np.ndarray:
    """Drop and report repeated fixations of the same reading, trial and onset."""
    again = np.ones(max(len(order) - 1, 0), dtype=bool)
    for key in keys:
        if key is not None:
            again &= key[order][1:] == key[order][:-1]
    if again.any():
        first = line[order][1:][again][0]
        warn(path, f"{again.sum():,} fixations dropped, repeats of another (first: line {first})")
    return order[np.concatenate([[True], ~again])]


MEASURES = ("FFD", "FP", "GP", "TFT")
COLUMNS = {
    "responses": {
        "words_since_fixation": ("number", "distance from the word fixated before, words"),
        "previous_fixated": ("flag", "whether the word before was fixated"),
    }
}
CHOICES = {"unit": ("ms", "s"), "unmatched": ("refused", "dropped")}

#: The names under `columns:`, read without importing the parser.
KEYS = ("subject", "item", "trial", "word", "position", "duration", "onset", "x", "y")

_NAMED, _NUMBERS = KEYS[:4], KEYS[4:]
_BOX = ("left", "right", "top", "bottom")
_UNITS = {"ms": 1.0, "s": 1000.0}
_SHOWN = 5
#: Minimum share of a text that the last reading must reach.
_FAR = 2 / 3


def words(
    files: dict[str, Path],
    *,
    columns: Mapping | None = None,
    areas: Mapping | None = None,
    first: int = 1,
    ignored: Sequence[str] = (),
    sentences: str | None = None,
    separator: str | None = None,
    encoding: str = "utf-8",
    sheet: str | None = None,
    frame: str | None = None,
    missing: Sequence[str] | None = None,
    members: str | None = None,
    rows: Mapping | None = None,
) -> pd.DataFrame:
    """Read the texts from the table of areas, or from the fixations' words."""
    if "areas" in files:
        options = dict(areas or {})
        mapped = {n: c for n, c in (options.pop("columns", None) or {}).items() if n not in _BOX}
        return tables.words({"areas": files["areas"]}, columns=mapped, **options)
    path = _fixation_file(files)
    named, numbers = _mapped_columns(columns, ["item", "position", "word"])
    if "position" not in numbers or "word" not in named:
        raise InputError(
            f"{path}: without a table of areas (words: {{areas: …}}) the words are those of the "
            "fixations; map `word` and `position` in options → columns"
        )
    style = Style(separator, encoding, sheet, frame, members=members, rows=rows)
    labels, values, line = read(path, style, named, numbers, missing)
    places, item, word = values["position"], labels["item"], labels["word"]
    there = _on_text(places, first) & (item.codes >= 0) & ~_is_ignored(word, ignored)
    table = pd.DataFrame(
        {
            "item": item.codes[there],
            "position": places[there].astype("int64") - first + 1,
            "word": word.codes[there],
        },
        index=line[there],
    ).drop_duplicates()
    table["item"] = np.array([*item.values, ""], dtype=object)[table["item"]]
    table["word"] = np.array([*word.values, ""], dtype=object)[table.word]
    table = table.astype({"item": "str", "word": "str"})
    return texts.build(texts.Rows(Table(path, table), table), sentences, table[[]])


def responses(
    files: dict[str, Path],
    words: pd.DataFrame,
    measure: str,
    *,
    columns: Mapping | None = None,
    areas: Mapping | None = None,
    first: int = 1,
    ignored: Sequence[str] = (),
    unit: str = "ms",
    unmatched: str = "refused",
    separator: str | None = None,
    encoding: str = "utf-8",
    sheet: str | None = None,
    frame: str | None = None,
    missing: Sequence[str] | None = None,
    members: str | None = None,
    rows: Mapping | None = None,
) -> pd.DataFrame:
    """Compute `measure` in ms: FFD, FP (first pass), GP (go past) or TFT (total) of fixations."""
    options = {"columns": columns, "areas": areas, "first": first, "ignored": ignored, "unit": unit}
    options |= {"unmatched": unmatched, "separator": separator, "encoding": encoding}
    options |= {
        "sheet": sheet,
        "frame": frame,
        "missing": missing,
        "members": members,
        "rows": rows,
    }
    subjects, arrays, breaks, _ = _read_on_words(files, words, **options)
    size = words.groupby("item", sort=False).size()
    _warn_of_a_cut(_fixation_file(files), size, subjects, *arrays[:3])
    return _of_words(measure, subjects, size, *arrays, breaks)


def read_fixations(files: dict[str, Path], words: pd.DataFrame, **options) -> pd.DataFrame:
    """Read contract 4, with the options of `responses`; of a text read again, the first trial."""
    subjects, (subject, text, position, duration), breaks, onset = _read_on_words(
        files, words, **options
    )
    size = words.groupby("item", sort=False).size()
    word_id = np.concatenate([[0], np.cumsum(size.to_numpy())])[text] + position
    trials = pd.Series(np.cumsum(breaks)).groupby([subject, text])
    reading = (trials.transform("first") == trials.obj).to_numpy()
    names = padded(pd.Series(subjects, dtype="str")).to_numpy()[subject]
    columns = (names, size.index.to_numpy()[text], word_id, duration)
    onset = None if onset is None else onset[reading]
    return fixations.as_table(*(column[reading] for column in columns), onset)


def _read_on_words(
    files: dict[str, Path],
    words: pd.DataFrame,
    *,
    columns: Mapping | None = None,
    areas: Mapping | None = None,
    first: int = 1,
    ignored: Sequence[str] = (),
    unit: str = "ms",
    unmatched: str = "refused",
    **style_of_file,
) -> tuple[list[str], tuple[np.ndarray, ...], np.ndarray, np.ndarray | None]:
    """Read fixations on words, in temporal order within subject and text.

    Returns
    -------
    tuple
        Names of subjects; codes of subject and text, positions from 0, durations (ms), each (n,);
        whether another trial begins (n,); and onsets (n,), ms, if mapped.
    """
    missing = style_of_file.pop("missing", None)
    one_of("unit", unit, _UNITS)
    one_of("unmatched", unmatched, CHOICES["unmatched"])
    path = _fixation_file(files)
    named, numbers = _mapped_columns(columns, ["subject", "item"])
    if "duration" not in numbers:
        numbers["duration"] = "duration"
    by_pixels = "position" not in numbers
    if by_pixels and not {"x", "y"} <= numbers.keys():
        raise InputError(f"{path}: map `position`, or `x` and `y`, in options → columns")
    style = Style(**{"separator": None} | style_of_file)
    labels, values, line = read(path, style, named, numbers, missing)
    size = words.groupby("item", sort=False).size()
    item = _items(path, labels["item"], size, line, unmatched)
    if by_pixels:
        positions = _places_of_pixels(files, areas, item, size, values)
    else:
        positions = values["position"] - first
        positions[~_on_text(values["position"], first)] = -1
    positions = np.where(np.isfinite(positions), positions, -1).astype(np.int64)
    if "word" in labels:
        positions[_is_ignored(labels["word"], ignored)] = -1
    positions = _within(path, positions, item, size, line, unmatched)
    on_text = (positions >= 0) & (item >= 0) & (labels["subject"].codes >= 0)
    off = int((~on_text).sum())
    if off:
        warn(
            path,
            f"{off:,} of {len(positions):,} fixations are on no word of a text, and are left out",
        )
    if off == len(positions):
        raise InputError(f"{path}: no fixation is on a word of the texts")
    if "word" in labels:
        _same_words(
            path, words, size, item[on_text], positions[on_text], labels["word"].take(on_text)
        )
    duration = values["duration"][on_text] * _UNITS[unit]
    if not (np.isfinite(duration) & (duration >= 0)).all():
        at = int(np.argmax(~(np.isfinite(duration) & (duration >= 0))))
        raise InputError(
            f"{path}, line {line[on_text][at]}: {numbers['duration']} is {duration[at]}, which is no duration"
        )
    subject = labels["subject"].take(on_text)
    trial = labels["trial"].codes[on_text] if "trial" in labels else None
    onset = values["onset"][on_text] if "onset" in values else None
    order = in_order(path, subject.codes, item[on_text], trial, onset)
    if onset is not None:
        order = once(path, order, line[on_text], subject.codes, item[on_text], trial, onset)
    codes, text = subject.codes[order], item[on_text][order]
    breaks = np.zeros(len(order), dtype=bool)
    if trial is not None:
        breaks[1:] = trial[order][1:] != trial[order][:-1]
    arrays = (codes, text, positions[on_text][order], duration[order])
    onset = None if onset is None else onset[order] * _UNITS[unit]
    return subject.values, arrays, breaks, onset


def _warn_of_a_cut(
    path: Path,
    size: pd.Series,
    subjects: list[str],
    subject: np.ndarray,
    text: np.ndarray,
    position: np.ndarray,
) -> None:
    """Warn if the last reading ends far from the end of its text."""
    last = (subject == subject[-1]) & (text == text[-1])
    if position[last].max() + 1 < _FAR * size.iloc[text[-1]]:
        warn(
            path,
            f"the last fixations, of subject {subjects[subject[-1]]} in text {size.index[text[-1]]}, end "
            "far from the end of the text; if the file was cut off, get it again",
        )


def _of_words(
    measure: str,
    subjects: list[str],
    size: pd.Series,
    subject: np.ndarray,
    text: np.ndarray,
    position: np.ndarray,
    duration: np.ndarray,
    breaks: np.ndarray,
) -> pd.DataFrame:
    """Return one row per word of each text that a subject read, in reading order."""
    sums = fixations.measure(subject, text, position, duration, breaks)
    starts = np.ones(len(text), dtype=bool)
    starts[1:] = (subject[1:] != subject[:-1]) | (text[1:] != text[:-1])
    lengths = size.to_numpy()[text[starts]]
    offset = np.concatenate([[0], np.cumsum(lengths)])
    cell = offset[np.cumsum(starts) - 1] + position
    total = int(offset[-1])
    # Each measure is in the row of the fixation that starts its sum, once per word.
    times = np.bincount(cell, sums[measure], total)
    passed = times > 0 if measure == "FP" else np.bincount(cell, sums.FP, total) > 0
    reading = pd.Series(np.repeat(np.arange(len(lengths), dtype=np.int32), lengths))
    begin = np.concatenate([[0], np.cumsum(size.to_numpy())])[:-1][text[starts]]
    word_id = np.arange(total) - np.repeat(offset[:-1] - begin, lengths)
    names = padded(pd.Series(subjects, dtype="str"))
    fixated = pd.Series(passed)
    return pd.DataFrame(
        {
            "subject": names.take(np.repeat(subject[starts], lengths)).reset_index(drop=True),
            "word_id": word_id.astype("int32"),
            "time_ms": times,
            "words_since_fixation": fixations.since_fixation(fixated),
            "previous_fixated": fixations.previous_fixated(fixated, [reading]),
        }
    )


def _fixation_file(files: Mapping[str, Path]) -> Path:
    """Return the one file of fixations."""
    others = [path for role, path in files.items() if role != "areas"]
    if len(others) != 1:
        raise InputError(
            f"fixations: one file of fixations is expected, and `areas`; the config names {', '.join(files) or 'none'}"
        )
    return Path(others[0])


def _mapped_columns(columns: Mapping | None, needed: list[str]) -> tuple[dict, dict]:
    """Return name → columns of labels and name → column of numbers, from `columns`."""
    columns = dict(columns or {})
    if wrong := [name for name in columns if name not in KEYS]:
        raise InputError(f"options → columns: fixations have no {nearest(wrong[0], KEYS)}")
    named = {n: columns.get(n, n) for n in _NAMED if columns.get(n) or n in needed}
    named = {n: list(c) if isinstance(c, list) else [str(c)] for n, c in named.items()}
    return named, {n: str(columns[n]) for n in _NUMBERS if columns.get(n)}


def _on_text(position: np.ndarray, first: int) -> np.ndarray:
    """Return whether fixations have a word number."""
    return np.isfinite(position) & (position >= first)


def _is_ignored(word: Labels, ignored: Sequence[str]) -> np.ndarray:
    """Return whether fixations are on an ignored label."""
    left_out = np.array([value in ignored for value in word.values] + [False], dtype=bool)
    return left_out[word.codes]


def _items(
    path: Path, item: Labels, size: pd.Series, line: np.ndarray, unmatched: str
) -> np.ndarray:
    """Return the number of each fixation's text, -1 for unknown texts."""
    codes = size.index.get_indexer(pd.Index(item.values, dtype="str"))
    item_codes = np.append(codes, -1)[item.codes]
    lost = (item_codes < 0) & (item.codes >= 0)
    if lost.any() and unmatched != "dropped":
        at = int(np.argmax(lost))
        raise InputError(
            f"{path}, line {line[at]}: there is no text {item.values[item.codes[at]]!r} "
            f"({lost.sum():,} such fixations); the texts are {', '.join(map(str, size.index[:_SHOWN]))}"
            f"{', …' if len(size) > _SHOWN else ''}; `unmatched: dropped` leaves them out"
        )
    return item_codes


def _within(
    path: Path,
    position: np.ndarray,
    item: np.ndarray,
    size: pd.Series,
    line: np.ndarray,
    unmatched: str,
) -> np.ndarray:
    """Return positions; those beyond their text are refused or -1."""
    beyond = (position >= np.append(size.to_numpy(), 0)[item]) & (item >= 0)
    if beyond.any() and unmatched != "dropped":
        at = int(np.argmax(beyond))
        raise InputError(
            f"{path}, line {line[at]}: text {size.index[item[at]]} has {size.iloc[item[at]]:,} words, "
            f"and no word {position[at] + 1:,} ({beyond.sum():,} such fixations)"
        )
    return np.where(beyond, -1, position)


def _same_words(
    path: Path,
    words: pd.DataFrame,
    size: pd.Series,
    item: np.ndarray,
    position: np.ndarray,
    word: Labels,
) -> None:
    """Raise InputError with the first word of each text that differs in the fixations."""
    begin = np.concatenate([[0], np.cumsum(size.to_numpy())])
    keys = pd.DataFrame({"item": item, "place": position, "word": word.codes}).drop_duplicates()
    keys = keys[keys.word >= 0]
    expected = words.word.to_numpy()[begin[keys["item"]] + keys.place.to_numpy()]
    named = np.array([*word.values, ""], dtype=object)[keys.word]
    differs = [spelling(str(a)) != spelling(str(b)) for a, b in zip(expected, named, strict=True)]
    if not any(differs):
        return
    wrong = keys.assign(known=expected, named=named)[differs].sort_values(["item", "place"])
    first_wrong = wrong.drop_duplicates("item")
    shown = "; ".join(
        f"text {size.index[row.item]}: word {row.place + 1} is {row.named!r}, in the text {row.known!r}"
        for row in first_wrong.head(_SHOWN).itertuples()
    )
    more = f" and {len(first_wrong) - _SHOWN} more texts" if len(first_wrong) > _SHOWN else ""
    raise InputError(
        f"{path}: fixations and texts do not align: {shown}{more}; check options → first and the "
        "columns of the texts"
    )


def _places_of_pixels(
    files: Mapping[str, Path],
    areas: Mapping | None,
    item: np.ndarray,
    size: pd.Series,
    values: Mapping,
) -> np.ndarray:
    """Return the position of the area that contains each fixation's pixel, from 0; NaN if none."""
    if "areas" not in files:
        raise InputError(
            "fixations by pixels (x, y) need the table of areas: responses → areas, as of the words"
        )
    boxes = _boxes(Path(files["areas"]), dict(areas or {}), size)
    positions = np.full(len(item), np.nan)
    x, y = values["x"], values["y"]
    order = np.argsort(item, kind="stable")
    bounds = np.searchsorted(item[order], np.arange(len(size) + 1))
    for code, item_boxes in boxes.groupby("code", sort=False):
        rows = order[bounds[code] : bounds[code + 1]]
        left, right, top, bottom = (item_boxes[name].to_numpy() for name in _BOX)
        for number, box in enumerate(zip(left, right, top, bottom, strict=True)):
            inside = (
                (x[rows] >= box[0]) & (x[rows] < box[1]) & (y[rows] >= box[2]) & (y[rows] < box[3])
            )
            positions[rows[inside & np.isnan(positions[rows])]] = number
    return positions


def _boxes(path: Path, options: dict, size: pd.Series) -> pd.DataFrame:
    """Read the areas' edges in pixels, in the order of the words of each text."""
    mapped = dict(options.get("columns") or {})
    columns = {name: str(mapped.get(name, name)) for name in _BOX}
    item = mapped.get("item", "item")
    parts = item if isinstance(item, list) else [item]
    position = mapped.get("position", "position")
    style = Style(
        options.get("separator"), options.get("encoding", "utf-8"), options.get("sheet"),
        options.get("frame"), members=options.get("members"), rows=options.get("rows"),
    )  # fmt: skip
    wanted = [*parts, *columns.values(), *([position] if position else [])]
    table = anything.read(path, style, lambda header: present(path, header, wanted))
    label = labels(table, parts[0])
    for part in parts[1:]:
        label = label + " " + labels(table, part)
    frame = pd.DataFrame({"code": size.index.get_indexer(pd.Index(label, dtype="str"))})
    for name, column in columns.items():
        frame[name] = table.numbers(column, minimum=None).to_numpy()
    if position:
        frame["position"] = table.numbers(position, integer=True).to_numpy()
        frame = frame.drop_duplicates(["code", "position"]).sort_values(["code", "position"])
    frame = frame[frame.code >= 0]
    counts = frame.groupby("code").size().reindex(range(len(size)), fill_value=0)
    if (wrong := counts.to_numpy() != size.to_numpy()).any():
        at = int(np.argmax(wrong))
        raise InputError(
            f"{path}: text {size.index[at]} has {size.iloc[at]:,} words and {counts[at]:,} areas"
        )
    return frame
