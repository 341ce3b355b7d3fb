"""PoTeC, Potsdam Textbook Corpus, German, eye tracking (Jakobi et al., 2025).

75 students read 12 textbook passages of biology (b0-b5) and physics (p0-p5).
words: itemid, SentenceIndex, WordIndexInText, WORD (without punctuation, as in the source).
responses: `times` with reader, itemid, WordIndexInText, FFD, FPRT, RPD_inc, RBRT, TFT (ms, 0: not
fixated); optionally `readers` (reader, itemid, expert_status, meanAccTQ, meanAccBQ), whose columns
filters may use as `expert_status`, `text_accuracy` and `background_accuracy`.

Responses carry `first_pass` (the word was fixated before any to its right; where it was not, TFT
alone can be above 0), and, counted by it, `words_since_fixation` and `previous_fixated`.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from job import InputError

from datasets.contracts import padded, word_table
from datasets.fixations import previous_fixated, since_fixation
from datasets.reading import note, only, read

_COLUMNS = {"FFD": "FFD", "FP": "FPRT", "GP": "RPD_inc", "RB": "RBRT", "TFT": "TFT"}
MEASURES = tuple(_COLUMNS)

_PLACE = ["itemid", "WordIndexInText"]
_READERS = {
    "expert_status": "expert_status",
    "meanAccTQ": "text_accuracy",
    "meanAccBQ": "background_accuracy",
}


def words(files: dict[str, Path]) -> pd.DataFrame:
    """Read the passages, one item each."""
    path = only(files, "words of potec")
    table = read(path, [*_PLACE, "SentenceIndex", "WORD"]).once(_PLACE)
    frame = pd.DataFrame({"itemid": table["itemid"], "word": table["WORD"]})
    for name in ("WordIndexInText", "SentenceIndex"):
        frame[name] = table.numbers(name, whole=True, minimum=1)
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
    table = read(path, dict.fromkeys([*keys, "FPRT", column])).once(keys)
    place = table.numbers("WordIndexInText", whole=True, minimum=1)
    counts = words.assign(place=words.groupby("item").cumcount() + 1)
    known = counts.set_index(["item", "place"]).word_id
    found = known.reindex(pd.MultiIndex.from_arrays([table["itemid"], place]))
    if (lost := found.isna().to_numpy()).any():
        line = table.frame.index[lost][0]
        table.fail(
            line,
            f"text {table['itemid'][line]} has no word {place[line]} ({lost.sum():,} such rows)",
        )
    frame = pd.DataFrame({"subject": padded(table["reader"]), "text": table["itemid"]})
    frame["word_id"] = found.astype("int32").to_numpy()
    frame["time_ms"] = table.numbers(column)
    frame["first_pass"] = table.numbers("FPRT") > 0
    _complete(path, frame, words)
    order = (frame.text != frame.text.shift()) | (frame.subject != frame.subject.shift())
    if ((frame.word_id.diff() != 1) & ~order).any():
        frame = frame.sort_values(["subject", "word_id"], kind="stable")
        note(path, "rows were not in reading order and were sorted")
    frame["words_since_fixation"] = since_fixation(frame.first_pass)
    frame["previous_fixated"] = previous_fixated(frame.first_pass, [frame.subject, frame.text])
    if readers is not None:
        frame = _with_readers(frame, table["reader"], Path(readers))
    return frame.drop(columns="text").reset_index(drop=True)


def _complete(path: Path, frame: pd.DataFrame, words: pd.DataFrame) -> None:
    """Refuse a file that ends within a text; report other texts that lack words."""
    got = frame.groupby(["subject", "text"], sort=False).size()
    length = words.groupby("item").size().reindex(got.index.get_level_values("text")).to_numpy()
    short = got[got.to_numpy() < length]
    if short.empty:
        return
    subject, text = short.index[-1]
    what = f"subject {subject} has {short.iloc[-1]} of the words of text {text}"
    if tuple(frame.iloc[-1][["subject", "text"]]) == (subject, text):
        raise InputError(f"{path} ends within a text: {what}; it looks cut off: get it again")
    note(path, f"{len(short):,} readings of a text lack words ({what})")


def _with_readers(frame: pd.DataFrame, reader: pd.Series, path: Path) -> pd.DataFrame:
    """Add what is known of each reading of a text."""
    table = read(path, ["reader", "itemid", *_READERS]).once(["reader", "itemid"])
    known = pd.DataFrame({new: table.numbers(old, minimum=None) for old, new in _READERS.items()})
    known = known.set_index(pd.MultiIndex.from_arrays([table["reader"], table["itemid"]]))
    pairs = pd.MultiIndex.from_arrays([reader.reindex(frame.index), frame.text])
    if (lost := ~pairs.isin(known.index)).any():
        raise InputError(f"{path} has no row for reader {pairs[lost][0][0]}, {pairs[lost][0][1]}")
    return pd.concat([frame, known.reindex(pairs).set_axis(frame.index)], axis=1)
