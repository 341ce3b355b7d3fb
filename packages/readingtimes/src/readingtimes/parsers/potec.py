"""PoTeC, Potsdam Textbook Corpus, German, eye tracking (Jakobi et al., 2025).

75 students read 12 textbook passages of biology (b0-b5) and physics (p0-p5).
words: itemid, SentenceIndex, WordIndexInText, WORD (without punctuation, as in the source).
responses: `times` with reader, itemid, WordIndexInText, FFD, FPRT, RPD_inc, RBRT, TFT (ms, 0: not
fixated); optionally `readers` (reader, itemid, expert_status, meanAccTQ, meanAccBQ), whose columns
filters may use as `expert_status`, `text_accuracy` and `background_accuracy`.

Each may be a table, or the corpus's zip with a file per reader and text,
`reader<number>_<text>_merged.tsv` (or .txt), which has all columns, named reader_id, text_id,
word_index_in_text and so on, or as above.

Responses have `first_pass` (the word was fixated before any to its right; otherwise only TFT can be
above 0) and, based on it, `words_since_fixation` and `previous_fixated`.
"""

import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath

import pandas as pd

from readingtimes.contracts import check_complete, look_up, padded, word_table
from readingtimes.errors import InputError
from readingtimes.fixations import with_history
from readingtimes.strict_tables import Table, join_tables, only, read, warn

_COLUMNS = {"FFD": "FFD", "FP": "FPRT", "GP": "RPD_inc", "RB": "RBRT", "TFT": "TFT"}
MEASURES = ("FFD", "FP", "GP", "RB", "TFT")
COLUMNS = {
    "responses": {
        "words_since_fixation": ("number", "distance from the word fixated before, words"),
        "previous_fixated": ("flag", "whether the word before was fixated"),
        "first_pass": ("flag", "whether the word was fixated before any to its right"),
        "expert_status": ("number", "whether the reader is an expert", {"role": "readers"}),
        "text_accuracy": ("number", "share of right answers on the text", {"role": "readers"}),
        "background_accuracy": ("number", "share of right background answers", {"role": "readers"}),
    },
}

_PLACE = ["itemid", "WordIndexInText"]
_MEMBER = re.compile(r"reader(\d+)_([a-z]\d+)_merged\.(?:tsv|txt)")
# Column names of the current files of osf.io/dn5hp → names of the earlier release, used here.
_NAMES = {
    "reader": "reader_id",
    "itemid": "text_id",
    "SentenceIndex": "sent_index_in_text",
    "WordIndexInText": "word_index_in_text",
    "WORD": "word",
    "expert_status": "expert_status_numeric",
    "meanAccTQ": "mean_acc_tq",
    "meanAccBQ": "mean_acc_bq",
}
_UNKNOWN = ("", "NA", "nan", "NaN")
_READERS = {
    "expert_status": "expert_status",
    "meanAccTQ": "text_accuracy",
    "meanAccBQ": "background_accuracy",
}


def words(files: dict[str, Path]) -> pd.DataFrame:
    """Read the passages, one item each."""
    path = only(files, "words of potec")
    table = _table(path, [*_PLACE, "SentenceIndex", "WORD"], keys=_PLACE).once(_PLACE)
    frame = pd.DataFrame({"itemid": table["itemid"], "word": table["WORD"]})
    for name in ("WordIndexInText", "SentenceIndex"):
        frame[name] = table.numbers(name, integer=True, minimum=1)
    frame = frame.sort_values(_PLACE, kind="stable")
    text = frame.groupby("itemid")
    for wrong, problem in (
        (frame.WordIndexInText != text.cumcount() + 1, "there is no word before this one"),
        (text.SentenceIndex.diff() < 0, "the sentence numbers go back"),
    ):
        if wrong.any():
            line = frame.index[wrong][0]
            table.fail(line, f"text {frame.itemid[line]}: {problem}")
    new = (frame.itemid != frame.itemid.shift()) | (frame.SentenceIndex.diff() != 0)
    return word_table(frame.itemid.to_numpy(), new.cumsum(), frame.word.to_numpy())


def responses(files: dict[str, Path], words: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Read `measure` in ms: FFD, FP (first pass), GP (go past), RB (right-bounded), TFT (total)."""
    files = dict(files)
    readers = files.pop("readers", None)
    path = only(files, "responses of potec")
    column = _COLUMNS[measure]
    keys = ["reader", *_PLACE]
    table = _table(path, dict.fromkeys([*keys, "FPRT", column])).once(keys)
    position = table.numbers("WordIndexInText", integer=True, minimum=1)
    word_ids = look_up(words, ("item", "place"), table["itemid"], position).word_id
    if (lost := word_ids.isna().to_numpy()).any():
        line = table.frame.index[lost][0]
        table.fail(
            line,
            f"text {table['itemid'][line]} has no word {position[line]} ({lost.sum():,} such rows)",
        )
    frame = pd.DataFrame({"subject": padded(table["reader"]), "text": table["itemid"]})
    frame["word_id"] = word_ids.astype("int32").to_numpy()
    frame["time_ms"] = table.numbers(column)
    frame["first_pass"] = table.numbers("FPRT") > 0
    check_complete(path, frame.subject, frame.text, words.groupby("item").size(), "text")
    order = (frame.text != frame.text.shift()) | (frame.subject != frame.subject.shift())
    if ((frame.word_id.diff() != 1) & ~order).any():
        frame = frame.sort_values(["subject", "word_id"], kind="stable")
        warn(path, "rows were not in reading order and were sorted")
    frame = with_history(frame, frame.first_pass, frame.text)
    if readers is not None:
        frame = _with_readers(frame, table["reader"], Path(readers))
    return frame.drop(columns="text").reset_index(drop=True)


def _with_readers(frame: pd.DataFrame, reader: pd.Series, path: Path) -> pd.DataFrame:
    """Add the columns of each reading of a text."""
    keys = ["reader", "itemid"]
    table = _table(path, [*keys, *_READERS], keys=keys).once(keys)
    readers = pd.DataFrame(
        {new: table.numbers(old, minimum=None, missing=_UNKNOWN) for old, new in _READERS.items()}
    )
    readers = readers.set_index(pd.MultiIndex.from_arrays([table["reader"], table["itemid"]]))
    pairs = pd.MultiIndex.from_arrays([reader.reindex(frame.index), frame.text])
    if (lost := ~pairs.isin(readers.index)).any():
        raise InputError(f"{path} has no row for reader {pairs[lost][0][0]}, {pairs[lost][0][1]}")
    return pd.concat([frame, readers.reindex(pairs).set_axis(frame.index)], axis=1)


def _table(path: Path, columns: Iterable[str], keys: list[str] | None = None) -> Table:
    """Read a table, or a zip of them; of a zip, with `keys`, one row for each of these keys.

    Words and readers stand there again and again: rows that repeat one must agree.
    """
    columns = list(columns)
    if not zipfile.is_zipfile(path):
        return read(path, columns)
    try:
        with zipfile.ZipFile(path) as archive:
            table = join_tables(path, _members(path, archive, columns, keys))
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise InputError(f"{path} is damaged ({error}); get it again") from error
    if keys:
        frame = table.frame.drop_duplicates(columns)
        if (other := frame.duplicated(keys)).any():
            line = frame.index[other][0]
            what = ", ".join(f"{key} {frame.at[line, key]}" for key in keys)
            table.fail(line, f"{what} differs from an earlier row ({other.sum():,} such rows)")
        table = replace(table, frame=frame)
    return table


def _members(
    path: Path, archive: zipfile.ZipFile, columns: list[str], keys: list[str] | None
) -> Iterator[tuple[str, Table]]:
    """Read the files of a zip, by reader and text; their columns get the names used here."""
    members = {}
    for name in archive.namelist():
        if (match := _MEMBER.fullmatch(PurePosixPath(name).name)) and "__MACOSX" not in name:
            if (key := (int(match[1]), match[2])) in members:
                raise InputError(
                    f"{path} has reader {key[0]}, {key[1]} twice: {members[key]}, {name}"
                )
            members[key] = name
    if not members:
        raise InputError(
            f"{path} has no file reader<number>_<text>_merged.tsv: take reading_measures_merged of "
            "PoTeC, osf.io/dn5hp"
        )
    for (reader, text), name in sorted(members.items()):
        data = archive.read(name)
        header = data.split(b"\n", 1)[0].decode("utf-8-sig", "replace").strip().split("\t")
        theirs = [new if (new := _NAMES.get(c, c)) in header else c for c in columns]
        table = read(Path(f"{path}/{name}"), theirs, data=data)
        frame = table.frame.set_axis(columns, axis=1)
        for key, expected in (("itemid", text), ("reader", str(reader))):
            if key in frame and (other := frame[key] != expected).any():
                table.fail(frame.index[other][0], f"{key} is {frame[key][other].iloc[0]!r} here")
        if keys:
            frame = frame.drop_duplicates(columns)
        yield name, Table(path, frame)
