"""Build and check the tables that parsers return: words and responses, and fixations where recorded.

Words (contract 1): one row per word in reading order, with item (the text, str), sentence (number,
unique in the corpus, int32), position (from 1 within the sentence, int32), word_id (number of the row
from 0, int32) and word (str); then further columns, those of `MORE` first. Among these, space_after
(bool) is whether a space follows the word (default true), and sentence_label (str) the corpus's own
label of the sentence.
Responses (contract 2): one row per subject and word, with subject (str), word_id and time_ms,
amplitude_uv or response (without a unit: a rating, a cloze probability; float64), and further columns.
Among these, span (int32) is the number of words of a response to several words of a text, from word_id
on. `attrs` may have the number of dropped rows without a value, `missing`.
Fixations (contract 4): one row per fixation on a word, in temporal order within subject and item, with
subject (str), item (str), order (from 1, int32), word_id (int32), onset_ms (since the text's beginning;
where it was not recorded, the sum of the durations before) and duration_ms (float64).
Further columns have numbers, booleans or text (str); missing values are null.

Check options with a fixed set of values.
"""

import re
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from readingtimes.errors import InputError
from readingtimes.names import hint
from readingtimes.response_names import AMPLITUDE, RESPONSES, TIME
from readingtimes.strict_tables import warn

WORD_COLUMNS = ["item", "sentence", "position", "word_id", "word"]
# Optional columns of words, for designs and for LMs.
MORE = ("pos", "foil_length", "given_length", "log_frequency", "space_after")

# Representation of bytes in Python: b'The'.
_BYTES = r"""b(['"]).*\1"""
_END_MARK = r"[.?!…:;][\W_]*$"


def word_table(
    items: Sequence[str], sentences: Sequence[int], words: Sequence[str]
) -> pd.DataFrame:
    """Build contract 1 from words in reading order, their items and sentence numbers."""
    frame = pd.DataFrame(
        {"item": pd.Series(items, dtype="str"), "sentence": np.asarray(sentences, dtype=np.int32)}
    )
    frame["position"] = (frame.groupby("sentence", sort=False).cumcount() + 1).astype(np.int32)
    frame["word_id"] = np.arange(len(frame), dtype=np.int32)
    frame["word"] = pd.Series(words, dtype="str")
    return _checked(frame, "words")


def check_words(frame: pd.DataFrame, where: str) -> pd.DataFrame:
    """Raise InputError, with the first invalid word, unless `frame` fulfils contract 1."""
    frame = _checked(frame, where)
    encoded = frame.word.str.fullmatch(_BYTES)
    if encoded.mean() > 0.5:
        raise InputError(
            f"{where}: the words are written as Python bytes, such as {frame.word[encoded].iloc[0]!r}; "
            "decode them (`word.decode()`) before the table is saved"
        )
    _cut_words(frame, where)
    return frame


def _checked(frame: pd.DataFrame, where: str) -> pd.DataFrame:
    _columns(frame, WORD_COLUMNS, where)
    if frame.empty:
        raise InputError(f"{where}: no words")
    first = [*WORD_COLUMNS, *(name for name in MORE if name in frame)]
    frame = frame[[*first, *(name for name in frame if name not in first)]].reset_index(drop=True)
    _further(frame, WORD_COLUMNS, where)
    if "space_after" in frame and frame.space_after.dtype != bool:
        raise InputError(
            f"{where}: space_after is {frame.space_after.dtype}, not bool; say true or false of each word"
        )
    new = frame.sentence != frame.sentence.shift()
    wrongs = {
        "is not the number of its row": frame.word_id != frame.index,
        "is empty or has a space inside": ~frame.word.str.fullmatch(r"\S+"),
        "belongs to a sentence that is in two places": new & frame.sentence.duplicated(),
        "has not the next position of its sentence": frame.position
        != frame.groupby("sentence").cumcount() + 1,
        "belongs to another item than the word before it in its sentence": ~new
        & (frame["item"] != frame["item"].shift()),
        "belongs to an item that is in two places": (frame["item"] != frame["item"].shift())
        & frame["item"].duplicated(),
    }
    for problem, wrong in wrongs.items():
        if wrong.any():
            row = frame[wrong].iloc[0]
            raise InputError(
                f"{where}: word {row.word_id} ({row.word!r}, sentence {row.sentence}) {problem}"
            )
    types = {"sentence": "int32", "position": "int32", "word_id": "int32"}
    return frame.astype({"item": "str", "word": "str", **types})


def same_words(observed_words: Sequence[str], words: pd.DataFrame, where: object) -> None:
    """Raise InputError unless a file of responses has the same words as `words`."""
    if list(observed_words) != words.word.tolist():
        raise InputError(f"{where}: its words are not those that the words were read from")


def item_means(words: pd.DataFrame, times: Sequence[float]) -> pd.DataFrame:
    """Return mean times per word (ms) as responses of one subject, `mean`."""
    frame = pd.DataFrame({"subject": "mean", "word_id": words.word_id.to_numpy()})
    return frame.assign(time_ms=np.asarray(times, dtype="float64"))


def single_sentences(sentences: pd.Series) -> pd.DataFrame:
    """Build contract 1 from numbered sentences that were read in isolation; each is an item."""
    split = sentences.str.split().explode()
    items = padded(split.index.astype("str").to_series())
    return word_table(items.to_numpy(), split.index.to_numpy(), split.to_numpy())


def look_up(words: pd.DataFrame, by: tuple[str, str], *keys: pd.Series) -> pd.DataFrame:
    """Return the rows of `words` that match two `keys`, with the keys' index; NaN without a match.

    `by` names the keys: sentence or item, and position or `place`, a word's number in its item from 1.
    Items are compared as numbers if the key is numeric.
    """
    numbered = words.assign(place=words.groupby("item").cumcount() + 1)
    if by[0] == "item" and pd.api.types.is_numeric_dtype(keys[0]):
        numbered["item"] = numbered["item"].astype("int64")
    rows = numbered.set_index(list(by)).reindex(pd.MultiIndex.from_arrays(keys))
    return rows.set_axis(keys[0].index)


def response_column(frame: pd.DataFrame, where: str) -> str:
    """Return the name of the response column: time_ms, amplitude_uv (ERPs) or response (no unit)."""
    columns = [name for name in RESPONSES if name in frame.columns]
    if len(columns) != 1:
        there = " and ".join(columns) or f"none of them; there are {', '.join(frame.columns)}"
        raise InputError(f"{where}: one of {', '.join(RESPONSES)} is needed, not {there}")
    return columns[0]


def whole_units(words: pd.DataFrame) -> pd.Series:
    """Return what is partitioned, resampled and left out as a whole: the stimulus, else the sentence.

    The conditions of an experiment's item are versions of one stimulus. Words have the column `stimulus`
    where they are of such a design, with each sentence in one of its levels.

    Parameters
    ----------
    words : DataFrame
        Words, or observations with the columns of their words.

    Returns
    -------
    Series
        `words.stimulus` or `words.sentence`.
    """
    if "stimulus" not in words or words["stimulus"].isna().any():
        return words["sentence"]
    pairs = words[["sentence", "stimulus"]].drop_duplicates()
    return words["sentence" if pairs["sentence"].duplicated().any() else "stimulus"]


def check_responses(frame: pd.DataFrame, words: pd.DataFrame, where: str) -> pd.DataFrame:
    """Raise InputError unless `frame` has valid responses to `words`: times ≥ 0 ms, amplitudes or scores.

    A subject may respond to a word once, or once per fixation if there is a column `fixation`.
    Amplitudes (microvolts) and scores (no unit) may be negative; all values are finite.
    """
    value = response_column(frame, where)
    _columns(frame, ["subject", "word_id", value], where)
    if frame.empty:
        raise InputError(f"{where}: no responses")
    keys = ["subject", "word_id", *(["fixation"] if "fixation" in frame else [])]
    _further(frame, keys, where)
    kind = {TIME: "time", AMPLITUDE: "amplitude"}.get(value, "number")
    wrongs = {
        "is to an unknown word": ~frame.word_id.isin(words.word_id),
        f"is not a finite {kind}": ~np.isfinite(frame[value].astype("float64")),
        "is negative": (frame[value] < 0) & (kind == "time"),
        "repeats an earlier one of its subject": frame.duplicated(keys),
    }
    for problem, wrong in wrongs.items():
        if wrong.any():
            row = frame[wrong].iloc[0]
            response = f"the response {row[value]} of {row.subject} to word {row.word_id}"
            raise InputError(f"{where}: {response} {problem}")
    if "span" in frame:
        _spans(frame, words, where)
    _cut_responses(frame, words, where)
    types = {"subject": "str", "word_id": "int32", value: "float64"}
    if "previous_fixated" in frame:
        types["previous_fixated"] = "boolean"
    if "span" in frame:
        types["span"] = "int32"
    return frame.astype(types).reset_index(drop=True)


def check_fixations(frame: pd.DataFrame, words: pd.DataFrame, where: str) -> pd.DataFrame:
    """Raise InputError, with the number of such rows, unless `frame` fulfils contract 4.

    Parameters
    ----------
    frame : DataFrame
        Fixations, in any order of rows.
    words : DataFrame
        Contract 1.
    where : str
        The table's name in messages.

    Returns
    -------
    DataFrame
        Fixations by subject and item, in temporal order.
    """
    needed = {"subject": "str", "item": "str", "order": "int32", "word_id": "int32"}
    needed |= {"onset_ms": "float64", "duration_ms": "float64"}
    _columns(frame, list(needed), where)
    if frame.empty:
        raise InputError(f"{where}: no fixations")
    frame = frame.reset_index(drop=True)
    item = frame.word_id.map(words.set_index("word_id")["item"])
    times = frame[["onset_ms", "duration_ms"]].astype("float64")
    before = frame.assign(item=frame["item"].astype("str")).sort_values(
        ["subject", "item", "order"], kind="stable"
    )
    reading = before.groupby(["subject", "item"], sort=False)
    wrongs = {
        "is on no word of the texts": item.isna(),
        "is on a word of another item": item.notna() & (item != frame["item"].astype("str")),
        "has no onset or duration": ~np.isfinite(times).all(axis=1) | (times.duration_ms < 0),
        "repeats the order of another": frame.duplicated(["subject", "item", "order"]),
        "begins before the one before it": (reading.onset_ms.diff() < 0).reindex(frame.index),
    }
    for problem, wrong in wrongs.items():
        if wrong.any():
            row = frame[wrong].iloc[0]
            raise InputError(
                f"{where}: fixation {row.order} of subject {row.subject} in text {row['item']} (word_id "
                f"{row.word_id}) {problem} ({wrong.sum():,} such fixations)"
            )
    return before.astype(needed)[[*needed]].reset_index(drop=True)


def are_to_regions(words: pd.DataFrame, responses: pd.DataFrame) -> bool:
    """Return whether responses are only to marked regions of texts, as in experiments.

    Parameters
    ----------
    words, responses : DataFrame
        Contracts 1 and 2. Regions are marked in the words' column `region`, null outside them.
    """
    if "region" not in words or words.region.notna().all():
        return False
    return bool(words.region[words.word_id.isin(responses.word_id)].notna().all())


def check_complete(
    path: object, subjects: pd.Series, texts: pd.Series, lengths: pd.Series, kind: str
) -> None:
    """Raise InputError if a file ends within a text; report other texts that lack words.

    A row is a subject's response to a word of a text; `lengths` maps texts to numbers of words, and
    `kind` is the noun for texts.
    """
    rows = pd.DataFrame({"subject": subjects, "text": texts})
    got = rows.groupby(["subject", "text"], sort=False).size()
    length = lengths.reindex(got.index.get_level_values("text")).to_numpy()
    short = got[got.to_numpy() < length]
    if short.empty:
        return
    subject, text = short.index[-1]
    what = f"subject {subject} has {short.iloc[-1]} of the {lengths[text]} words of {kind} {text}"
    if tuple(rows.iloc[-1]) == (subject, text):
        raise InputError(f"{path} ends within a {kind}: {what}; it looks cut off: get it again")
    warn(path, f"{len(short):,} readings of a {kind} lack words ({what})")


def _cut_words(frame: pd.DataFrame, where: str) -> None:
    """Warn if the words end within a sentence, as in a truncated file."""
    last = frame.word[frame.sentence != frame.sentence.shift(-1)]
    marked = last.str.contains(_END_MARK)
    if not marked.iloc[-1] and (len(last) == 1 or marked.iloc[:-1].mean() > 0.9):
        sign = f"the last word, {last.iloc[-1]!r}, ends no sentence, as almost all others do"
        warn(where, f"{sign}; if the file was cut off, get it again")


def _cut_responses(frame: pd.DataFrame, words: pd.DataFrame, where: str) -> None:
    """Warn if the responses of subjects who read whole texts end within a text, as in a truncated file.

    Signs are missing words, and a last fixation in the first 3/4 of the text.
    """
    if are_to_regions(words, frame):  # no text is read whole
        return None
    items = words.set_index("word_id")["item"]
    pairs = pd.DataFrame({"subject": frame.subject, "item": frame.word_id.map(items)})
    pairs["word_id"] = frame.word_id
    pairs["place"] = frame.word_id.map(words.groupby("item").cumcount()) + 1
    if "time_ms" in frame:
        pairs["place"] = pairs.place.where((frame.time_ms > 0).to_numpy(), 0)
    readings = pairs.groupby(["subject", "item"], sort=False)
    length = words.groupby("item").size().reindex(readings.size().index.get_level_values(1))
    last = tuple(pairs.iloc[-1][["subject", "item"]])
    for got, what in (
        (readings.word_id.nunique() == length.to_numpy(), "lack words that others have"),
        (readings.place.max() > 0.75 * length.to_numpy(), "end far from the end of the text"),
    ):
        others = got.drop(last)
        if not got[last] and (others.empty or others.mean() > 0.9):
            sign = f"the last rows, of subject {last[0]} in text {last[1]}, {what}"
            return warn(where, f"{sign}; if the file was cut off, get it again")


def padded(names: pd.Series) -> pd.Series:
    """Add leading zeros to numbered names, so that they sort in natural order."""
    parts = {name: re.fullmatch(r"(.*?)(\d*)", str(name)).groups() for name in names.unique()}
    width = max((len(digits) for _, digits in parts.values()), default=0)
    if len({prefix for prefix, _ in parts.values()}) > 1 or not all(d for _, d in parts.values()):
        return names.astype("str")
    spelled = {name: prefix + digits.zfill(width) for name, (prefix, digits) in parts.items()}
    if len(set(spelled.values())) < len(spelled):
        return names.astype("str")
    return names.map(spelled).astype("str")


def _further(frame: pd.DataFrame, columns: list[str], where: str) -> None:
    """Raise InputError unless columns have unique names, and numbers, booleans or text."""
    for name in frame.columns:
        if not isinstance(name, str) or not name.strip() or list(frame.columns).count(name) > 1:
            raise InputError(f"{where}: {name!r} is not a valid column name, or is duplicate")
        if name not in columns and frame[name].dtype == object:
            kinds = {type(value) for value in frame[name].dropna()}
            if kinds - {str}:
                odd = ", ".join(sorted(kind.__name__ for kind in kinds))
                raise InputError(f"{where}: the column {name} holds {odd}; give numbers or text")


def _spans(frame: pd.DataFrame, words: pd.DataFrame, where: str) -> None:
    """Raise InputError for a response with a span below 1, or beyond its text."""
    item, first = words["item"].to_numpy(), frame.word_id.to_numpy(dtype="int64")
    span = frame.span.to_numpy()
    last = np.clip(first + span - 1, 0, len(words) - 1).astype("int64")
    wrong = (span < 1) | (span % 1 != 0) | (first + span > len(words)) | (item[last] != item[first])
    if wrong.any():
        row = frame[wrong].iloc[0]
        raise InputError(
            f"{where}: the response of {row.subject} to word {row.word_id} has a span of {row.span}, "
            "which is below 1, or extends beyond its text"
        )


def _columns(frame: pd.DataFrame, needed: list[str], where: str) -> None:
    for name in needed:
        if name not in frame.columns:
            raise InputError(f"{where}: no column {name}; there are {', '.join(frame.columns)}")


def one_of(option: str, value: str, choices: Iterable[str]) -> None:
    """Raise InputError, with the nearest known value, unless `value` is one of them."""
    choices = list(choices)
    if value not in choices:
        raise InputError(
            f"options → {option}: {value!r} is not possible here; {hint(value, choices)}"
            f"There are: {', '.join(choices)}"
        )
