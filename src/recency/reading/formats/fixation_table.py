"""Read large tables of fixations: labels as codes, numbers as arrays, rows in their order."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import compute

from recency.errors import InputError
from recency.names import hint
from recency.reading.formats import anything, archives, rda, streamed, xlsx
from recency.reading.formats.anything import Style
from recency.reading.own.columns import MISSING, MISSING_LABELS, labels
from recency.reading.strict_tables import Table, warn

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
    columns = {name: _joined([part[0][name] for part in parts]) for name in wanted}
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
    if style.members and archives.is_archive(path):
        return archives.members(path, style.members)
    return [path]


def _part(
    source: object, style: Style, wanted: list[str], numbers: set[str], missing: list[str]
) -> tuple[dict[str, object], np.ndarray]:
    """Read one table: column → Labels or array, and the rows' lines."""
    member = source if isinstance(source, archives.Member) else None
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
    return {n: _joined(blocks) for n, blocks in columns.items()}, np.concatenate(lines or [[]])


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


def _joined(parts: list) -> object:
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
