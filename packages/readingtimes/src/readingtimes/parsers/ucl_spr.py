"""UCL corpus, self-paced reading (Frank et al., 2013): selfpacedreading.RT.txt.

117 subjects read 361 sentences in isolation. Responses have `correct`, the answer to the trial's
question: c correct, e wrong, - no question.
"""

from pathlib import Path

import pandas as pd

from readingtimes.errors import InputError
from readingtimes.formats import ucl
from readingtimes.strict_tables import only

MEASURES = ("SPR",)
COLUMNS = {
    "words": {
        "pos": ("text", "part of speech: noun, verb or other", {"role": "tags"}),
    },
    "responses": {
        "correct": ("text", "the answer: c right, e wrong, - no question"),
    },
}

# Words as they were presented; stimuli.txt has them corrected (README of the corpus).
_PRESENTED = {43: ("Scott", "Sott"), 269: ("at", "that"), 337: ("Margaret", "Margeret")}


def words(files: dict[str, Path]) -> pd.DataFrame:
    """Read the sentences of stimuli.txt as presented in this study, and with `tags` their parts of speech."""
    return ucl.words(files, "words of ucl_spr", _sentences_as_presented)


def _sentences_as_presented(sentences: pd.Series, path: Path) -> pd.Series:
    for number, (corrected, presented) in _PRESENTED.items():
        if number in sentences:
            split = sentences[number].split()
            if corrected not in split and presented not in split:
                raise InputError(
                    f"{path}: sentence {number} has neither {corrected} nor {presented}"
                )
            sentences[number] = " ".join(presented if w == corrected else w for w in split)
    return sentences


def responses(files: dict[str, Path], words: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Read the time from each word's onset to the key press, ms."""
    table, frame = ucl.trials(only(files, "responses of ucl_spr"), words, ["RT"])
    return frame.assign(time_ms=table.numbers("RT"))
