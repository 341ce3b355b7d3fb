"""Sentences and trials of both studies of the UCL corpus (Frank et al., 2013)."""

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from readingtimes import parts_of_speech
from readingtimes.contracts import check_complete, look_up, padded, single_sentences
from readingtimes.errors import InputError
from readingtimes.strict_tables import Table, content, only, read

ENCODING = "latin-1"
KEYS = ["subj_nr", "sent_nr", "word_pos"]


def sentences(path: Path) -> pd.Series:
    """Read stimuli.txt: the sentences by number, in its order."""
    table = read(path, ["sent_nr", "sentence"], encoding=ENCODING).once(["sent_nr"])
    numbers = table.numbers("sent_nr", integer=True, minimum=1)
    return pd.Series(table["sentence"].to_numpy(), index=numbers.to_numpy()).sort_index()


def words(files: Mapping[str, Path], what: str, used: Callable) -> pd.DataFrame:
    """Read the sentences that a study `used`; with the role `tags` (stimuli_pos.txt), also `pos`."""
    files = dict(files)
    tags = files.pop("tags", None)
    path = only(files, what)
    chosen = used(sentences(path), path)
    table = single_sentences(chosen)
    return table if tags is None else table.assign(pos=_parts_of_speech(tags, chosen))


def _parts_of_speech(path: Path, chosen: pd.Series) -> list[str]:
    """Find the part of speech of each word of the sentences, by number."""
    tags, parts_found = {}, []
    for line, text in enumerate(content(path).decode(ENCODING).splitlines()[1:], start=2):
        number, *tagged = text.split() or [""]
        if not number.isdecimal():
            raise InputError(
                f"{path}: line {line} begins with {number!r}, not a sentence's number; it is to be "
                "stimuli_pos.txt, a number and the tags of the sentence a line"
            )
        tags[int(number)] = line, tagged
    for number, sentence in chosen.items():
        if number not in tags:
            raise InputError(f"{path}: no tags of sentence {number}, which is in the stimuli")
        line, tagged = tags[number]
        parts = [len(parts_of_speech.parts(word)) for word in sentence.split()]
        if sum(parts) != len(tagged):
            raise InputError(
                f"{path}: line {line} has {len(tagged)} tags, and sentence {number} {sum(parts)} words, "
                f"clitics and marks: {sentence!r}"
            )
        ends = np.cumsum(parts)
        parts_found += [parts_of_speech.of(tagged[end - n : end]) for n, end in zip(parts, ends)]
    return parts_found


def trials(path: Path, words: pd.DataFrame, times: list[str]) -> tuple[Table, pd.DataFrame]:
    """Read a file of reading times, and check its words against `words`.

    The frame has subject, word_id and correct, row by row as in the file.
    """
    table = read(path, [*KEYS, "correct", "word", *times], encoding=ENCODING).once(KEYS)
    frame = pd.DataFrame({key: table.numbers(key, integer=True, minimum=1) for key in KEYS})
    matched = look_up(words, ("sentence", "position"), frame.sent_nr, frame.word_pos)
    require_same_words(table, table["word"], matched.word, frame.sent_nr, frame.word_pos)
    answers = table["correct"]
    if (odd := ~answers.isin(["c", "e", "-"])).any():
        line = answers.index[odd][0]
        table.fail(line, f"correct is {answers[line]!r}, expected c, e or -")
    lengths = words.groupby("sentence").size()
    check_complete(path, frame.subj_nr, frame.sent_nr, lengths, "sentence")
    frame["subject"] = padded(frame.subj_nr.astype("str"))
    frame["word_id"] = matched.word_id.astype("int32")
    frame["correct"] = answers
    return table, frame[["subject", "word_id", "correct"]]


def require_same_words(
    table: Table,
    shown: pd.Series,
    matched: pd.Series,
    sentences: pd.Series,
    positions: pd.Series,
) -> None:
    """Raise InputError, with the first line, unless the words of rows are those of the stimuli."""
    wrong = matched.to_numpy() != shown.to_numpy()
    if wrong.any():
        line = shown.index[wrong][0]
        expected = matched[line]
        there = f"there is {expected!r}" if isinstance(expected, str) else "there is no such word"
        table.fail(
            line,
            f"word {positions[line]:g} of sentence {sentences[line]} is {shown[line]!r}; {there}"
            f" in the stimuli ({wrong.sum():,} such rows)",
        )
