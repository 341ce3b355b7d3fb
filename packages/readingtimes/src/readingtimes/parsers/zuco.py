"""ZuCo 1.0 and 2.0, eye tracking (Hollenstein et al., 2018, 2020): sentences, one per screen.

Three formats, distinguished by content:
- the corpus's own results files (`formats.zuco_results`), any number of them, or zips of them: all
  measures by reader, words as displayed;
- total reading times by reader (task, subject, sentence_id, word_id, word, TRT in ms, 0: not
  fixated): the tasks zuco1_SR, zuco1_NR and zuco2_NR. Words are in lower case and punctuation is
  split off (it has a time of 0): it is put back. sentence_id counts within a reader, so readers'
  sentences are matched by their words, in order;
- item means (split, sentence_num, word, first_fix_dur, first_pass_dur, total_fix_dur), words as
  displayed, skipped words counted as 0; one subject, `mean`.

In the table by reader, `previous_fixated` is whether the previous word was fixated at all, because TRT
is the only measure.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from readingtimes.contracts import item_means, one_of, padded, same_words, word_table
from readingtimes.errors import InputError
from readingtimes.fixations import with_history
from readingtimes.formats import zuco_results
from readingtimes.strict_tables import Table, header, only, read, warn

_MEANS = {"FFD": "first_fix_dur", "FP": "first_pass_dur", "TFT": "total_fix_dur"}
MEASURES = ("FFD", "FP", "GP", "TFT")
COLUMNS = {
    "responses": {
        "words_since_fixation": ("number", "distance from the word fixated before, words"),
        "previous_fixated": ("flag", "whether the word before was fixated"),
    },
}

# Tasks of the results files; those of the table by reader are `_TASKS`.
CHOICES = {"tasks": ("zuco1_SR", "zuco1_NR", "zuco1_TSR", "zuco2_NR", "zuco2_TSR")}
_TASKS = ("zuco1_SR", "zuco1_NR", "zuco2_NR")
_SPLIT_OFF = r"[.,;:?!)'-]+"
# Characters that the source lost: apostrophes, and a dash between years.
_LOST = {"(?<=[a-z])\ufffd(?=s)": "’", "(?<=[0-9])\ufffd(?=[0-9])": "–"}


def words(files: dict[str, Path], *, tasks: Sequence[str] = _TASKS) -> pd.DataFrame:
    """Read the sentences, one item each."""
    if zuco_results.are_results(files):
        return zuco_results.words(files, tasks)
    path = only(files, "words of zuco")
    if not _by_reader(path):
        _, frame = _means(path)
        return word_table(padded(frame.sentence.astype("str")), frame.sentence, frame.word)
    return _words_of(_texts(path, _readings(path, tasks)))


def responses(
    files: dict[str, Path], words: pd.DataFrame, measure: str, *, tasks: Sequence[str] = _TASKS
) -> pd.DataFrame:
    """Read `measure` in ms: TFT (total); item means also FFD and FP; results files also GP."""
    if zuco_results.are_results(files):
        return zuco_results.responses(files, words, measure, tasks)
    path = only(files, "responses of zuco")
    if not _by_reader(path):
        if measure not in _MEANS:
            raise InputError(
                f"{path} has item means, without {measure}; it has: {', '.join(_MEANS)}; {measure} "
                "is in the corpus's own results files"
            )
        table, frame = _means(path, _MEANS[measure])
        same_words(frame.word, words, path)
        return item_means(words, table.numbers(_MEANS[measure]))
    if measure != "TFT":
        raise InputError(f"{path} has total reading times alone: measures → {measure} is not there")
    readings = _readings(path, tasks)
    texts = _texts(path, readings)
    same_words(_words_of(texts).word, words, path)
    firsts = np.concatenate([[0], np.cumsum([len(text) for _, text in texts])])
    parts = []
    for (task, subject), read_there in readings.groupby(["task", "subject"], sort=False):
        places = [n for n, (of, _) in enumerate(texts) if of == task]
        matches = _match_sentences(read_there.words.tolist(), [texts[n][1] for n in places])
        for row, sentence in zip(read_there.itertuples(), matches, strict=True):
            if sentence is not None:
                first = firsts[places[sentence]]
                ids = np.arange(first, first + len(row.words))
                parts.append((subject, sentence, ids, row.times))
    if left := len(readings) - len(parts):
        warn(path, f"{left:,} sentences dropped: which of several equal ones they are is open")
    lengths = [len(ids) for *_, ids, _ in parts]
    frame = pd.DataFrame({"subject": np.repeat([p[0] for p in parts], lengths)})
    frame["word_id"] = np.concatenate([p[2] for p in parts]).astype("int32")
    frame["time_ms"] = np.concatenate([p[3] for p in parts])
    return with_history(frame, frame.time_ms > 0, frame.word_id.map(words.sentence))


def _by_reader(path: Path) -> bool:
    return "TRT" in header(path)


def _means(path: Path, *columns: str) -> tuple[Table, pd.DataFrame]:
    """Read sentence (numbered from 1 in order) and word."""
    table = read(path, ["split", "sentence_num", "word", *columns])
    keys = table.frame[["split", "sentence_num"]]
    again = (table.frame == table.frame.shift()).all(axis=1)
    if again.any():
        warn(path, f"{again.sum():,} rows repeat the one before (first: line {again.idxmax()})")
    new = (keys != keys.shift()).any(axis=1)
    again = new & keys.duplicated()
    if again.any():
        table.fail(keys.index[again][0], "this sentence stands above already, and is not one piece")
    return table, pd.DataFrame(
        {"sentence": new.cumsum(), "word": _restore_characters(path, table["word"])}
    )


def _readings(path: Path, tasks: Sequence[str]) -> pd.DataFrame:
    """Read each reader's sentences: task, subject, words (a tuple), times (an array of ms)."""
    for task in tasks:
        one_of("tasks", task, _TASKS)
    table = read(path, ["task", "subject", "sentence_id", "word_id", "word", "TRT"])
    frame = table.frame[["task", "subject", "word"]].copy()
    frame["sentence"] = table.numbers("sentence_id", integer=True)
    frame["at"] = table.numbers("word_id", integer=True)
    frame["time"] = table.numbers("TRT")
    odd = ~frame.task.isin(_TASKS)
    if odd.any():
        table.fail(frame.index[odd][0], f"task is {frame.task[odd].iloc[0]!r}, none of {_TASKS}")
    frame = frame[frame.task.isin(tasks)]
    frame["word"] = _restore_characters(path, frame.word)
    frame = _put_back(table, frame)
    keys = ["task", "subject", "sentence"]
    again = (frame[keys] != frame[keys].shift()).any(axis=1) & frame.duplicated(keys)
    if again.any():
        line = frame.index[again][0]
        table.fail(line, f"sentence {frame.sentence[line]} of this reader stands above already")
    group = frame.groupby(keys, sort=False)
    readings = group.agg(words=("word", tuple), times=("time", lambda times: times.to_numpy()))
    return readings.reset_index()


def _restore_characters(path: Path, words: pd.Series) -> pd.Series:
    """Restore lost characters that are unambiguous, and report their number."""
    lost = words.str.contains("\ufffd", regex=False)
    for pattern, character in _LOST.items():
        words = words.str.replace(pattern, character, regex=True)
    if corrected := int((lost & ~words.str.contains("\ufffd", regex=False)).sum()):
        warn(path, f"{corrected:,} rows with a lost character corrected (an apostrophe or a dash)")
    return words


def _put_back(table: Table, frame: pd.DataFrame) -> pd.DataFrame:
    """Join punctuation to its word.

    A piece that was split off bears the number after its word's, so of the rows with one number the
    last is the word, and those before it belong to the word before; at the end of a sentence a
    last number with punctuation alone is no word.
    """
    keys = [frame.task, frame.subject, frame.sentence]
    last_row = ~pd.concat([*keys, frame["at"]], axis=1).duplicated(keep="last")
    final = frame["at"] == frame.groupby(keys, sort=False)["at"].transform("max")
    split = ~last_row | (final & (frame["at"] > 0) & frame.word.str.fullmatch(_SPLIT_OFF))
    if (odd := split & ((frame.time > 0) | ~frame.word.str.fullmatch(_SPLIT_OFF))).any():
        line = frame.index[odd][0]
        table.fail(line, f"word_id {frame['at'][line]} stands twice in a sentence of one reader")
    names = ["task", "subject", "sentence", "at"]
    pieces = frame[split].assign(at=frame["at"] - 1).groupby(names, sort=False).word.agg("".join)
    joined = frame[~split].copy()
    places = pd.MultiIndex.from_frame(joined[names])
    joined["word"] += pieces.reindex(places).fillna("").to_numpy()
    joined["word"] = joined.word.str.replace(r"^\.{3,}$", "...", regex=True)
    gap = joined["at"] != joined.groupby(names[:3]).cumcount()
    if gap.any():
        line = joined.index[gap][0]
        table.fail(line, f"the sentence has no word before word_id {joined['at'][line]}")
    return joined


def _texts(path: Path, readings: pd.DataFrame) -> list[tuple[str, tuple[str, ...]]]:
    """Return the sentences as (task, words), in the order of the reader with most of a task."""
    texts = []
    for task, of_task in readings.groupby("task", sort=False):
        counts = of_task.groupby("subject", sort=False).size()
        longest = of_task[of_task.subject == counts.idxmax()].words.tolist()
        for subject, theirs in of_task.groupby("subject", sort=False):
            if _match_sentences(theirs.words.tolist(), longest) is None:
                raise InputError(
                    f"{path}: the sentences of reader {subject} in {task} are not, in order, among "
                    f"those of {counts.idxmax()}, who has most"
                )
        texts += [(task, text) for text in longest]
    return texts


def _words_of(texts: list[tuple[str, tuple[str, ...]]]) -> pd.DataFrame:
    numbers = np.repeat(np.arange(1, len(texts) + 1), [len(text) for _, text in texts])
    items = padded(pd.Series(numbers).astype("str"))
    return word_table(items, numbers, [word for _, text in texts for word in text])


def _match_sentences(some: list, every: list) -> list[int | None] | None:
    """Match the sentences of `some` to `every`, in order; None if ambiguous.

    A place is certain if the earliest and the latest possible agree. None altogether if
    `some` is no part of `every`.
    """
    early = _earliest(some, every)
    late = _earliest(some[::-1], every[::-1])
    if early is None or late is None:
        return None
    late = [len(every) - 1 - position for position in late[::-1]]
    return [a if a == b else None for a, b in zip(early, late, strict=True)]


def _earliest(some: list, every: list) -> list[int] | None:
    places, at = [], 0
    for sentence in some:
        while at < len(every) and every[at] != sentence:
            at += 1
        if at == len(every):
            return None
        places.append(at)
        at += 1
    return places
