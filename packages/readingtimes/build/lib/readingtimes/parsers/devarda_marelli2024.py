"""The six corpora of de Varda & Marelli (2024): one mean time per word, over readers.

One row per word: sent_id, word_pos (from 1), word, rt (ms), and their predictors `length` (characters)
and `log_freq` (logarithm of a count). All but the words are NA for the first word of each sentence or
text, whose surprisal they omitted. Whether times are self-paced or first-pass depends on the corpus and
is the measure in the config. The subject is `mean`.
"""

from pathlib import Path

import pandas as pd

from readingtimes.contracts import item_means, padded, same_words, word_table
from readingtimes.sentences import sentence_numbers
from readingtimes.strict_tables import Table, only, read, warn

MEASURES = ("FP", "SPR")
COLUMNS = {
    "words": {
        "given_length": ("number", "the length that the authors took, characters"),
        "log_frequency": ("number", "the log frequency that the authors took"),
    },
}
_GIVEN = {"given_length": "length", "log_frequency": "log_freq"}


def words(files: dict[str, Path], *, texts: bool = False, documents: bool = True) -> pd.DataFrame:
    """Read the words, with given_length and log_frequency if the file has them.

    An item is a document (docid) if there is that column, else a sent_id; without `documents`
    always a sent_id, which they scored by itself. `texts` says that each sent_id is a whole text
    (MECO, Provo): `sentences.ends` parts it.
    """
    path = only(files, "words of devarda_marelli2024")
    table, frame = _rows(path, optional=["docid", *_GIVEN.values()])
    by_document = documents and "docid" in table
    items = table["docid"] if by_document else padded(frame.sent_id.astype("str"))
    sentences = sentence_numbers(frame.word, frame.sent_id) if texts else frame.sent_id
    result = word_table(items.to_numpy(), sentences, frame.word.to_numpy())
    given = {
        name: table.numbers(column, minimum=None, missing=["NA"]).to_numpy("float64")
        for name, column in _GIVEN.items()
        if column in table
    }
    return result.assign(**given)


def responses(
    files: dict[str, Path], words: pd.DataFrame, measure: str, *, offset: int = 0
) -> pd.DataFrame:
    """Read the mean times in ms; words without one are dropped and counted.

    `offset`: words by which times move within their sentence. 0 is as they were released; Natural
    Stories' stand one word too early there (its authors' correction of May 2025): 1.
    """
    path = only(files, "responses of devarda_marelli2024")
    table, frame = _rows(path, ["rt"])
    same_words(frame.word, words, path)
    times = table.numbers("rt", missing=["NA"])
    if offset:
        times = times.groupby(frame.sent_id).shift(offset)
    absent = times.isna()
    inside = absent & (frame.word_pos > 1 + max(offset, 0))
    if inside.any():
        warn(path, f"{inside.sum():,} words without a time that start no sentence or text")
    if absent.any():
        warn(path, f"{absent.sum():,} of {len(times):,} words have no time")
    return item_means(words, times)[~absent.to_numpy()].reset_index(drop=True)


def _rows(
    path: Path, columns: list[str] | None = None, optional: list[str] | None = None
) -> tuple[Table, pd.DataFrame]:
    """Read sent_id, word_pos and word; sentences must be in order, without a gap."""
    names = ["sent_id", "word_pos"]
    table = read(path, [*names, "word", *(columns or [])], optional=optional or []).once(names)
    frame = pd.DataFrame({name: table.numbers(name, integer=True) for name in names})
    frame["word"] = table["word"]
    wrong = frame.word_pos != frame.groupby("sent_id").cumcount() + 1
    wrong |= (frame.sent_id.diff() < 0) | ((frame.sent_id.diff() > 0) & (frame.word_pos != 1))
    if wrong.any():
        line = frame.index[wrong][0]
        table.fail(
            line,
            f"word {frame.word_pos[line]} of {frame.sent_id[line]} does not follow the word before",
        )
    return table, frame
