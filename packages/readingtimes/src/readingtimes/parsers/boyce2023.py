"""Natural Stories read in an A-maze (Boyce & Levy, 2023): a reader chooses between word and distractor.

words and responses: cleaned.rds of github.com/vboyce/natural-stories-maze, or the same as a table: one
row per reader and word, with type (the story, or practice), sentence (its text), word_num (from 0 in
the sentence), word, distractor, correct (yes or no), rt (ms, to the first choice), native (the
reader's answer), num_correct (of 6 questions), subject. A reader's rows are in the order of reading.

In this error-correction maze a trial continues after a wrong choice. Responses have `correct` (a flag),
`words_since_error` (distance from the reader's last wrong choice in the sentence; 0 without one),
`accuracy` (the reader's share of correct choices under 5 s, without practice), `native` and
`questions`. The first word of a sentence is paired with x-x-x, and has no foil.

Words are the stories' own, or those of another dataset (`words: {dataset: natural_stories}`), to
which rows are joined by the words.
"""

from pathlib import Path

import numpy as np
import pandas as pd

from readingtimes.contracts import padded, word_table
from readingtimes.errors import InputError
from readingtimes.formats import anything
from readingtimes.formats.anything import Style
from readingtimes.joins import engine
from readingtimes.parsers.witzel import NO_WORD
from readingtimes.strict_tables import Table, first_rows, only, warn

MEASURES = ("Maze",)
COLUMNS = {
    "words": {"foil": ("text", "the distractor shown with the word")},
    "responses": {
        "correct": ("flag", "whether the word was chosen"),
        "words_since_error": (
            "number",
            "words from the last wrong choice in the sentence, 0: none",
        ),
        "accuracy": ("number", "the reader's share of right choices"),
        "native": ("text", "the reader's native language, as given"),
        "questions": ("number", "right answers to the story's 6 questions"),
    },
}

_NAMES = ["type", "sentence", "word_num", "word", "distractor", "correct", "rt", "native"]
_NAMES += ["num_correct", "subject"]
_PRACTICE = "practice"
_ANSWERS = ("yes", "no")
_SLOW_MS = 5000
"""Choices from this time on do not count in a reader's accuracy, as in the paper."""


def words(files: dict[str, Path]) -> pd.DataFrame:
    """Read the stories, one item each, with each word's foil (null for x-x-x)."""
    _, rows = _rows(only(files, "words of boyce2023"))
    return _words(rows)


def responses(files: dict[str, Path], words: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Read the time of each first choice, correct or not, in ms."""
    table, rows = _rows(only(files, "responses of boyce2023"))
    stories = _words(rows)
    keys = ["type", "number", "word_num"]
    ids = pd.DataFrame({"word_id": _join_words(table.path, stories, words)}, index=_keys(stories))
    joined = ids.word_id.reindex(pd.MultiIndex.from_frame(rows[keys])).to_numpy()
    out = pd.DataFrame({"subject": padded(rows.subject), "word_id": joined}, index=rows.index)
    out["time_ms"], out["correct"] = rows.rt, rows.correct
    error_at = rows.word_num.where(~rows.correct).astype("float64")
    last = error_at.groupby([rows.subject, rows.type, rows.number], sort=False).ffill()
    out["words_since_error"] = (rows.word_num - last).fillna(0)
    quick = rows[rows.rt < _SLOW_MS]
    out["accuracy"] = rows.subject.map(quick.correct.groupby(quick.subject).mean())
    out["native"] = rows.native.mask(rows.native.isin(["", "NA"]), None)
    out["questions"] = rows.questions
    if (lost := out.word_id.isna()).any():
        warn(table.path, f"{lost.sum():,} rows of unknown words dropped")
    kept = out[~lost].astype({"word_id": "int32"})
    return kept.sort_values(["subject", "word_id"], kind="stable").reset_index(drop=True)


def _rows(path: Path) -> tuple[Table, pd.DataFrame]:
    """Read the rows without practice; `number` is the sentence's in the reader's story, from 0."""

    def choose(there: list[str]) -> list[str]:
        if lacking := [name for name in _NAMES if name not in there]:
            raise InputError(
                f"{path} has no column {lacking[0]}; it is to be cleaned.rds of "
                f"github.com/vboyce/natural-stories-maze. It has: {', '.join(there[:20])}"
            )
        return _NAMES

    table = anything.read(path, Style(), choose)
    kept = table["type"] != _PRACTICE
    table = Table(table.path, table.frame[kept])
    if table.frame.empty:
        raise InputError(f"{path} has no rows but those of practice")
    odd = ~table["correct"].isin(_ANSWERS)
    if odd.any():
        line = odd.index[odd][0]
        table.fail(line, f"correct is {table['correct'][line]!r}, expected yes or no")
    rows = table.frame[["type", "sentence", "word", "distractor", "native", "subject"]].copy()
    rows["word_num"] = table.numbers("word_num", integer=True)
    rows["rt"] = table.numbers("rt")
    rows["questions"] = table.numbers("num_correct", missing=("", "NA"))
    rows["correct"] = table["correct"] == "yes"
    reader = [rows.subject, rows.type]
    rows["number"] = (rows.word_num == 0).groupby(reader, sort=False).cumsum() - 1
    step = rows.word_num.groupby(reader, sort=False).diff()
    wrong = (rows.number < 0) | ((rows.word_num > 0) & (step != 1))
    if wrong.any():
        line = wrong.index[wrong][0]
        table.fail(
            line,
            f"word {rows.word_num[line]} of subject {rows.subject[line]} does not follow the word before "
            f"it ({wrong.sum():,} such rows); rows must be in the order of reading",
        )
    _refuse_repeated_starts(table, rows)
    keys = ["type", "number", "word_num"]
    _, other = first_rows(rows, keys, ["word", "distractor"])
    if len(other):
        row = other.iloc[0]
        table.fail(
            row.name,
            f"word {row.word_num} of sentence {row.number + 1} of {row.type} is {row.word!r} "
            f"({row.distractor!r}), for another reader {row.word_first!r} ({row.distractor_first!r})",
        )
    return table, rows


def _refuse_repeated_starts(table: Table, rows: pd.DataFrame) -> None:
    """Raise InputError for a repeated first word, which would split its sentence."""
    sentences = rows.groupby(["subject", "type", "number"], sort=False).sentence
    other = rows.sentence != sentences.transform("first")
    first = sentences.first()
    cut = sentences.size() < first.str.split().str.len()
    again = cut & first.reset_index().duplicated(["subject", "type", "sentence"], keep=False).array
    ends = pd.MultiIndex.from_frame(rows[["subject", "type", "number"]]).map(again).to_numpy(bool)
    if (odd := other.to_numpy() | ends).any():
        line = rows.index[odd][0]
        table.fail(
            line,
            f"the sentence {rows.sentence[line]!r} of subject {rows.subject[line]} begins twice, or "
            f"within another ({odd.sum():,} such rows); rows must be in the order of reading, each once",
        )


def _words(rows: pd.DataFrame) -> pd.DataFrame:
    """Build contract 1 with foils; stories are sorted by name."""
    keys = ["type", "number", "word_num"]
    first = rows.drop_duplicates(keys).sort_values(keys, kind="stable")
    sentence = (first.word_num == 0).cumsum()
    table_of_words = word_table(
        padded(first.type).to_numpy(), sentence.to_numpy(), first.word.to_numpy()
    )
    foil = first.distractor.to_numpy(dtype=object)
    return table_of_words.assign(foil=np.where(foil == NO_WORD, None, foil))


def _keys(stories: pd.DataFrame) -> pd.MultiIndex:
    """Return story, sentence in the story (from 0) and position in the sentence (from 0) of words."""
    first = stories.groupby("item", sort=False).sentence.transform("first")
    labels = stories["item"], stories.sentence - first, stories.position - 1
    return pd.MultiIndex.from_arrays(labels)


def _join_words(path: Path, stories: pd.DataFrame, words: pd.DataFrame) -> np.ndarray:
    """Return the word_id of each of the file's words, NaN without a match."""
    rows = stories[["item", "word"]].assign(position=stories.groupby("item").cumcount() + 1)
    joined = engine.join(words, rows, path)
    warn(path, f"joined by {joined.report}")
    word_ids = words.word_id.to_numpy(dtype=float)
    return np.where((joined.row >= 0) & ~joined.misplaced, word_ids[joined.row], np.nan)
