"""UCL corpus, eye tracking (Frank et al., 2013): eyetracking.RT.txt.

43 subjects read, in isolation, the 205 sentences that fitted on one line. One row per word; a time of 0
means that the word was not fixated before a word to its right. Responses have `correct` (c, e or -),
`words_since_fixation` (the paper's wdelta) and `previous_fixated`. Fixations: eyetracking.fix.txt.
"""

from pathlib import Path

import pandas as pd

from readingtimes import fixations
from readingtimes.contracts import look_up, padded
from readingtimes.formats import ucl
from readingtimes.strict_tables import header, only, read, warn

_COLUMNS = {
    "FP": "RTfirstpass",
    "GP": "RTgopast",
    "FFD": "RTfirstfix",
    "RB": "RTrightbound",
}
MEASURES = ("FP", "GP", "FFD", "RB")
COLUMNS = {
    "words": {
        "pos": ("text", "part of speech: noun, verb or other", {"role": "tags"}),
    },
    "responses": {
        "words_since_fixation": ("number", "distance from the word fixated before, words"),
        "previous_fixated": ("flag", "whether the word before was fixated"),
        "correct": ("text", "the answer: c right, e wrong, - no question"),
    },
}
# The study used the sentences with the fewest characters (README of the corpus).
_SENTENCES = 205


def words(files: dict[str, Path]) -> pd.DataFrame:
    """Read the sentences of stimuli.txt that this study used, and with `tags` their parts of speech."""
    return ucl.words(files, "words of ucl_eye_tracking", _shortest_sentences)


def _shortest_sentences(sentences: pd.Series, path: Path) -> pd.Series:
    """Return the shortest sentences; ties are resolved by number."""
    shortest = sentences.str.len().sort_values(kind="stable").index[:_SENTENCES]
    return sentences[shortest].sort_index()


def responses(files: dict[str, Path], words: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Read `measure` in ms, one of FP, GP, FFD, RB (right-bounded)."""
    column = _COLUMNS[measure]
    table, frame = ucl.trials(only(files, "responses of ucl_eye_tracking"), words, [column])
    frame["time_ms"] = table.numbers(column)
    sentence = frame.word_id.map(words.set_index("word_id").sentence)
    return fixations.with_history(frame, frame.time_ms > 0, sentence)


def read_fixations(files: dict[str, Path], words: pd.DataFrame, **options) -> pd.DataFrame | None:
    """Read contract 4; fixations on no word are dropped, and reported. None from eyetracking.RT.txt."""
    path = only(files, "fixations of ucl_eye_tracking")
    if "fix_duration" not in header(path):
        return None
    columns = ["subj_nr", "sent_nr", "fix_duration", "word_pos", "word"]
    table = read(path, columns, encoding=ucl.ENCODING)
    place = table.numbers("word_pos", missing=["NaN"])
    if (off := place.isna()).any():
        warn(path, f"{off.sum():,} of {len(off):,} fixations are on no word, and are left out")
    frame = pd.DataFrame({n: table.numbers(n, integer=True) for n in columns[:2]})
    frame = frame.assign(place=place, word=table["word"], ms=table.numbers("fix_duration"))[~off]
    matched = look_up(words, ("sentence", "position"), frame.sent_nr, frame.place.astype("int64"))
    ucl.require_same_words(table, frame.word, matched.word, frame.sent_nr, frame.place)
    subject = padded(frame.subj_nr.astype("str"))
    return fixations.as_table(subject, matched["item"], matched.word_id.astype("int32"), frame.ms)
