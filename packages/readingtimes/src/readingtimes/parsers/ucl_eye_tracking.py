"""UCL corpus, eye tracking (Frank et al., 2013): eyetracking.RT.txt.

43 subjects read, in isolation, the 205 sentences that fitted on one line. One row per word; a time of 0
means that the word was not fixated before a word to its right. Responses have `correct` (c, e or -),
`words_since_fixation` (the paper's wdelta) and `previous_fixated`.
"""

from pathlib import Path

import pandas as pd

from readingtimes.fixations import with_history
from readingtimes.formats import ucl
from readingtimes.strict_tables import only

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
    return with_history(frame, frame.time_ms > 0, sentence)
