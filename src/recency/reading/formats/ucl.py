"""What the two studies of the UCL corpus share (Frank et al., 2013): sentences and trials."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from recency.reading.contracts import check_complete, look_up, padded
from recency.reading.tables import Table, read

ENCODING = "latin-1"
KEYS = ["subj_nr", "sent_nr", "word_pos"]


def sentences(path: Path) -> pd.Series:
    """Read stimuli.txt: the sentences by number, in its order."""
    table = read(path, ["sent_nr", "sentence"], encoding=ENCODING).once(["sent_nr"])
    numbers = table.numbers("sent_nr", integer=True, minimum=1)
    return pd.Series(table["sentence"].to_numpy(), index=numbers.to_numpy()).sort_index()


def trials(path: Path, words: pd.DataFrame, times: list[str]) -> tuple[Table, pd.DataFrame]:
    """Read a file of reading times, its words checked against `words`.

    The frame has subject, word_id and correct, row by row as in the file.
    """
    table = read(path, [*KEYS, "correct", "word", *times], encoding=ENCODING).once(KEYS)
    frame = pd.DataFrame({key: table.numbers(key, integer=True, minimum=1) for key in KEYS})
    found = look_up(words, ("sentence", "position"), frame.sent_nr, frame.word_pos)
    wrong = found.word.to_numpy() != table["word"].to_numpy()
    if wrong.any():
        line = frame.index[wrong][0]
        sentence, position = frame.loc[line, ["sent_nr", "word_pos"]]
        expected = found.word[line]
        there = f"there is {expected!r}" if isinstance(expected, str) else "there is no such word"
        table.fail(
            line,
            f"word {position} of sentence {sentence} is {table['word'][line]!r}; {there}"
            f" in the stimuli ({wrong.sum():,} such rows)",
        )
    answers = table["correct"]
    if (odd := ~answers.isin(["c", "e", "-"])).any():
        line = answers.index[odd][0]
        table.fail(line, f"correct is {answers[line]!r}, expected c, e or -")
    lengths = words.groupby("sentence").size()
    check_complete(path, frame.subj_nr, frame.sent_nr, lengths, "sentence")
    frame["subject"] = padded(frame.subj_nr.astype("str"))
    frame["word_id"] = found.word_id.astype("int32")
    frame["correct"] = answers
    return table, frame[["subject", "word_id", "correct"]]
