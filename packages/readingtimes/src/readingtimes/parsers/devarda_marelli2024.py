"""The six corpora of de Varda & Marelli (2024): one mean time per word, over readers.

One row per word: sent_id, word_pos (from 1), word, rt (ms), and their predictors `length` (characters)
and `log_freq` (logarithm of a count). All but the words are NA for the first word of each sentence or
text, whose surprisal they omitted. Whether times are self-paced or first-pass depends on the corpus and
is the measure in the config. The subject is `mean`. The file is a table, or the release's pickle of all
corpora, of which `corpus` names one (meco, provo, ucl, ucl_spr, brown, natstor); nothing in it is run.
"""

import io
import pickle
from pathlib import Path

import numpy as np
import pandas as pd

from readingtimes.contracts import item_means, padded, same_words, word_table
from readingtimes.errors import InputError
from readingtimes.names import nearest
from readingtimes.sentences import sentence_numbers
from readingtimes.strict_tables import Table, content, only, read, warn

MEASURES = ("FP", "SPR")
COLUMNS = {
    "words": {
        "given_length": ("number", "the length that the authors took, characters"),
        "log_frequency": ("number", "the log frequency that the authors took"),
    },
}
_GIVEN = {"given_length": "length", "log_frequency": "log_freq"}


def words(
    files: dict[str, Path], *, texts: bool = False, documents: bool = True, corpus: str = ""
) -> pd.DataFrame:
    """Read the words, with given_length and log_frequency if the file has them.

    An item is a document (docid) if there is that column, else a sent_id; without `documents`
    always a sent_id, which they scored by itself. `texts` says that each sent_id is a whole text
    (MECO, Provo): `sentences.ends` parts it.
    """
    path = only(files, "words of devarda_marelli2024")
    table, frame = _rows(path, corpus, optional=["docid", *_GIVEN.values()])
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
    files: dict[str, Path],
    words: pd.DataFrame,
    measure: str,
    *,
    offset: int = 0,
    corpus: str = "",
) -> pd.DataFrame:
    """Read the mean times in ms; words without one are dropped and counted.

    `offset`: words by which times move within their sentence. 0 is as they were released; Natural
    Stories' stand one word too early there (its authors' correction of May 2025): 1.
    """
    path = only(files, "responses of devarda_marelli2024")
    table, frame = _rows(path, corpus, ["rt"])
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
    path: Path, corpus: str, columns: list[str] | None = None, optional: list[str] | None = None
) -> tuple[Table, pd.DataFrame]:
    """Read sent_id, word_pos and word; sentences must be in order, without a gap."""
    names = ["sent_id", "word_pos"]
    data = content(path)
    if is_pickle(data):
        table = _released(path, plain(path, data), corpus)
    else:
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


def _released(path: Path, corpora, corpus: str) -> Table:
    """Return a corpus of the release's pickle as the table that `words` and `responses` read.

    A corpus has `sent`, a list of words for each sentence or text, and `freq`, `len` and `fp`, a value for
    each word but the first of each.
    """
    if not isinstance(corpora, dict) or corpus not in corpora:
        known = nearest(corpus, corpora if isinstance(corpora, dict) else [])
        raise InputError(f"{path}: no corpus is called {known}; set `options: {{corpus: …}}`")
    its = corpora[corpus]
    if not isinstance(its, dict) or (lost := {"sent", "freq", "len", "fp"} - its.keys()):
        what = ", ".join(sorted(lost)) if isinstance(its, dict) else "what the release has"
        raise InputError(f"{path}: the corpus {corpus} lacks {what}; fetch the file again")
    places = [(s, n, word) for s, sent in enumerate(its["sent"]) for n, word in enumerate(sent, 1)]
    frame = pd.DataFrame(places, columns=["sent_id", "word_pos", "word"])
    later = frame.word_pos > 1
    for column, key in (("log_freq", "freq"), ("length", "len"), ("rt", "fp")):
        if len(its[key]) != later.sum():
            raise InputError(
                f"{path}: {corpus} has {len(its[key]):,} values of {key} for {later.sum():,} words that "
                "follow another in their sentence"
            )
        frame[column] = "NA"
        frame.loc[later, column] = [repr(float(value)) for value in its[key]]
    frame.index += 1
    return Table(path, frame.astype({"sent_id": str, "word_pos": str}))


def _dtype(*stated) -> np.dtype:
    """Return a dtype without Python objects."""
    made = np.dtype(*stated)
    if made.hasobject:
        raise pickle.UnpicklingError("an array of objects")
    return made


# NumPy's functions by the names in pickles of versions 1 and 2.
_SCALAR, _ARRAY = np.float64(0).__reduce__()[0], np.empty(0).__reduce__()[0]
_ALLOWED = {("numpy", "dtype"): _dtype, ("numpy", "ndarray"): np.ndarray}
for _core in ("numpy.core", "numpy._core"):
    _ALLOWED |= {
        (f"{_core}.multiarray", "scalar"): _SCALAR,
        (f"{_core}.multiarray", "_reconstruct"): _ARRAY,
    }


class _Plain(pickle.Unpickler):
    def find_class(self, module: str, name: str):
        if (module, name) not in _ALLOWED:
            raise pickle.UnpicklingError(f"it would import {module}.{name}")
        return _ALLOWED[module, name]


def is_pickle(data: bytes) -> bool:
    """Return whether the content of a file begins as pickles of protocol 2 or later do."""
    return data[:1] == b"\x80" and data[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05")


def plain(path: Path, data: bytes):
    """Return the object in `data`, the content of `path`.

    Raises InputError for a pickle with anything but plain data, and for a damaged one.
    """
    try:
        return _Plain(io.BytesIO(data)).load()
    except Exception as error:  # a damaged pickle raises any
        what = str(error) or type(error).__name__
        raise InputError(f"{path}: not a pickle of plain data ({what}); fetch it again") from error
