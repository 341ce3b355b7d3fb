"""Rule minimal_pairs: pairs of an acceptable and an unacceptable sentence, from their files."""

import gzip
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pandas as pd

from readingtimes.files import atomic
from readingtimes.strict_tables import tab_separated
from recency.errors import InputError
from recency.figures.paths import File, Files
from recency.text.utf8 import decoded

#: Columns to read, by their names in the files; a table without the first two has only paradigms.
KEYS = {
    "linguistics_term": "phenomenon",
    "field": "field",
    "UID": "paradigm",
    "sentence_good": "good",
    "sentence_bad": "bad",
}
OPTIONAL = ("linguistics_term", "field")
COLUMNS = ["pair", "paradigm", "phenomenon", "field", "good", "bad"]
#: BLiMP has 7 pairs of identical sentences among 67,000, at most 5 in a file of 1,000.
SAME_ALLOWED = 0.01

Row = tuple[int, dict[str, str]]
"""The line number in the file, and its values by the names of `KEYS`."""


def main(files: Files, out: File, labels: Mapping[str, str] = {}) -> None:
    """Write the pairs of all files, in order, to one Parquet file.

    `labels` maps phenomena or fields of the files to the names under which they are counted.
    """
    pairs = pd.concat([read(path, labels) for path in files], ignore_index=True)
    pairs.insert(0, "pair", range(len(pairs)))
    shared = pairs.groupby("paradigm").phenomenon.nunique()
    if len(twice := shared.index[shared > 1]):
        phenomena = pairs.phenomenon[pairs.paradigm == twice[0]].unique()
        raise InputError(
            f"the paradigm {twice[0]!r} has several phenomena: {', '.join(phenomena)}; give each a "
            "separate paradigm"
        )
    print(
        f"{len(pairs):,} pairs, {pairs.paradigm.nunique()} paradigms, "
        f"{pairs.phenomenon.nunique()} phenomena",
        file=sys.stderr,
    )
    with atomic(out) as path:
        pairs[COLUMNS].astype({"pair": "int32"}).to_parquet(path, index=False, compression="zstd")


def read(path: File, labels: Mapping[str, str] = {}) -> pd.DataFrame:
    r"""Read a file of pairs: columns paradigm, phenomenon, field, good, bad.

    JSON lines have all of `KEYS`, as in BLiMP's files; a table (.tsv) may lack `OPTIONAL`, and
    writes a line break within a sentence as \n. Raises InputError with file and line.
    """
    path = Path(path)
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    text = decoded(data, path)
    table = ".tsv" in path.suffixes
    rows, same = [], []
    for line, row in _table(path, text) if table else _json_lines(path, text):
        for key in ("UID", "sentence_good", "sentence_bad"):
            if not row[key].strip():
                raise InputError(
                    f"{path}, line {line}: {key} is empty; complete or remove the line"
                )
        if row["sentence_good"] == row["sentence_bad"]:
            same.append(f"{path}, line {line}: both sentences are {row['sentence_good']!r}")
        rows.append(row)
    if not rows:
        raise InputError(f"{path} has no pairs; supply the whole file")
    if len(same) > SAME_ALLOWED * len(rows):
        raise InputError(
            f"{same[0]}, and so in {len(same)} of {len(rows)} pairs; correct or remove these lines"
        )
    for pair in same:
        print(f"{pair}: a tie for every LM", file=sys.stderr)
    pairs = pd.DataFrame(rows).rename(columns=KEYS)
    if "phenomenon" not in pairs:
        pairs["phenomenon"] = pairs["paradigm"]
    if "field" not in pairs:
        pairs["field"] = ""
    for column in ("phenomenon", "field"):
        pairs[column] = pairs[column].map(lambda term: labels.get(term, term))
    return pairs[COLUMNS[1:]]


def _json_lines(path: Path, text: str) -> Iterator[Row]:
    """Yield the objects of a file with one on each line."""
    for line, written in enumerate(text.split("\n"), 1):
        if not written.strip():
            continue
        try:
            entry = json.loads(written)
        except json.JSONDecodeError as error:
            raise InputError(
                f"{path}, line {line}: not JSON ({error.msg}, character {error.pos + 1}); each "
                "line must be one whole object"
            ) from None
        for key in KEYS:
            if not isinstance(entry, dict) or key not in entry:
                raise InputError(f"{path}, line {line}: no {key!r}; a pair needs {', '.join(KEYS)}")
            if not isinstance(entry[key], str):
                raise InputError(f"{path}, line {line}: {key} is {entry[key]!r}, not a string")
        yield line, {key: entry[key] for key in KEYS}


def _table(path: Path, text: str) -> Iterator[Row]:
    """Yield the rows of a tab-separated table with a header."""
    rows = tab_separated(path, text)
    header = next(rows, (1, [""]))[1]
    for key in KEYS:
        if key not in header and key not in OPTIONAL:
            raise InputError(
                f"{path}: no column {key!r}, only {', '.join(header) or 'none'}; a table of pairs "
                "is tab-separated, with UID, sentence_good and sentence_bad"
            )
        if header.count(key) > 1:
            raise InputError(f"{path}: {header.count(key)} columns are named {key!r}; keep one")
    kept = [key for key in KEYS if key in header]
    for line, fields in rows:
        if fields == [""]:
            continue
        if len(fields) != len(header):
            raise InputError(
                f"{path}, line {line}: {len(fields)} fields, and the header has {len(header)}; "
                "correct the line"
            )
        row = dict(zip(header, fields, strict=True))
        yield line, {key: row[key].replace("\\n", "\n") for key in kept}
