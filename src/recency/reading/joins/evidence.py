"""Evidence for a candidate alignment: identical words, lengths, complete texts, correlations."""

import difflib
from dataclasses import dataclass

import numpy as np
import pandas as pd

from recency.reading import checks
from recency.reading.joins.index import Index
from recency.reading.joins.readings import Candidate

LAGS = (-2, -1, 0, 1, 2)
FEWEST = 50
"""Words that a correlation needs to decide."""
SIMILAR = 0.6
"""difflib's ratio from which two words are spellings of one word ("peaked", "peeked": .83)."""
_WORDS = 20
"""Words from which one complete text, or texts of one size, verify an alignment."""


@dataclass(frozen=True)
class Evidence:
    """Evidence for one candidate.

    Attributes
    ----------
    matched : float
        Share of the rows that have a word.
    same : float or None
        Of the rows that have a word, the share with the same word (or length) as the words;
        None: nothing can be compared.
    identical : float
        The same of all of the table's rows that can be compared, with a word or without.
    complete : float
        Share of the texts in the table that have rows from their first word to their last.
    sizes, covered : int
        Different sizes among the complete texts, and words that have a row.
    differ : ndarray of int64
        Rows whose word (or length) is another than that of the words.
    """

    matched: float
    same: float | None
    identical: float
    complete: float
    sizes: int
    covered: int
    differ: np.ndarray

    @property
    def is_complete(self) -> bool:
        """Return whether texts have the same lengths as in the table, for sufficiently many texts."""
        return self.complete == 1 and (self.sizes > 1 or self.covered >= _WORDS)

    @property
    def fits(self) -> bool:
        """Return whether every row has a word, and texts have the same lengths as in the table."""
        return self.matched == 1 and self.is_complete


def of(
    words: Index, rows: pd.DataFrame, candidate: Candidate, texts: np.ndarray | None
) -> Evidence:
    """Compute the evidence for a candidate from words, lengths and sizes of texts.

    Parameters
    ----------
    texts : ndarray of int64, shape (rows,), optional
        The word of each row by an alignment of characters, which rows of tokens are compared with.
    """
    row, weight = candidate.row, rows["rows"].to_numpy()
    has = row >= 0
    share = float(weight[has].sum() / max(weight.sum(), 1))
    comparable, equal = np.zeros(len(row), bool), np.zeros(len(row), bool)
    if texts is not None:
        comparable, equal = texts >= 0, row == texts
    elif "spelled" in rows:
        theirs, ours = rows["spelled"].to_numpy(), words.spelled[row]
        comparable = theirs != ""  # punctuation alone says nothing
        equal = theirs == ours
        if candidate.whole is not None:  # several rows may be one word
            equal |= candidate.whole[row]
    elif "length" in rows:
        comparable = np.ones(len(row), bool)
        equal = rows["length"].to_numpy(dtype=float) == words.lengths[row]
    compared = comparable & has
    same, identical = None, 0.0
    if compared.any():
        alike = float(weight[compared & equal].sum())
        same, identical = alike / weight[compared].sum(), alike / weight[comparable].sum()
    labels = [name for name in ("sentence", "item") if name in rows]
    complete, sizes, covered = _complete(words, row[has], labels)
    return Evidence(
        share, same, identical, complete, sizes, covered, np.flatnonzero(compared & ~equal)
    )


def _complete(words: Index, row: np.ndarray, labels: list[str]) -> tuple[float, int, int]:
    """Return the share of complete texts, the number of distinct sizes, and of words covered.

    A table without `labels` of its texts shows their total size alone, which must be that of all.
    """
    if not len(row):
        return 0.0, 0, 0
    unit = words.sentence if "sentence" in labels else words.item
    start = words.sentence_start if "sentence" in labels else words.item_start
    there = np.zeros(len(words.words), bool)
    there[row] = True
    if not labels and not (there[0] and there[-1]):
        return 0.0, 0, int(there.sum())
    units = np.unique(unit[row])
    whole = there[start[units]] & there[start[units + 1] - 1]
    sizes = np.unique(np.diff(start)[units[whole]])
    return float(whole.mean()), len(sizes), int(there.sum())


def misplaced(words: Index, rows: pd.DataFrame, candidate: Candidate, differ: np.ndarray) -> list:
    """Return the differing rows that are not a variant spelling of their word.

    A row is a spelling of its word if the two are similar, and its own word is none of the dataset.
    """
    if not len(differ) or "spelled" not in rows:
        return differ.tolist()
    theirs, ours, spellings = rows["spelled"].to_numpy(), words.spelled, set(words.spelled)

    def is_spelling(row: int) -> bool:
        matcher = difflib.SequenceMatcher(None, theirs[row], ours[candidate.row[row]])
        return theirs[row] not in spellings and matcher.ratio() >= SIMILAR

    return [row for row in differ.tolist() if not is_spelling(row)]


def decided(
    words: Index, rows: pd.DataFrame, candidates: list[Candidate], kind: str
) -> list[Candidate]:
    """Return the candidates under which values correlate with their own word, not a neighbour.

    Parameters
    ----------
    kind : str
        "time" or "surprisal": what `value` in `rows` is.
    """
    passed = []
    for candidate in candidates:
        mean = _mean(words, rows, candidate)
        profile = time_profile(words, mean) if kind == "time" else surprisal_profile(words, mean)
        if profile:
            passed.append(candidate)
    return passed


def follows_neighbour(words: Index, rows: pd.DataFrame, candidate: Candidate) -> bool:
    """Return whether surprisals correlate with a neighbour's length and frequency instead of their word's."""
    return surprisal_profile(words, _mean(words, rows, candidate)) is False


def _mean(words: Index, rows: pd.DataFrame, candidate: Candidate) -> pd.Series:
    """Return the mean value of each word's rows, NaN without rows."""
    value, weight = rows["value"].to_numpy(), rows["rows"].to_numpy(dtype=float)
    has = (candidate.row >= 0) & np.isfinite(value)
    total = np.bincount(candidate.row[has], value[has] * weight[has], len(words.words))
    count = np.bincount(candidate.row[has], weight[has], len(words.words))
    with np.errstate(invalid="ignore"):
        return pd.Series(np.where(count > 0, total / count, np.nan))


def time_profile(words: Index, mean: pd.Series) -> bool | None:
    """Return whether mean times correlate with their word's length, None with too few words."""
    table = checks.alignment(words.words.reset_index(drop=True), mean)
    r = table.set_index("offset").r
    if int(table.n.iloc[0]) < FEWEST or r.isna().all() or r[0] < 3 / np.sqrt(table.n.iloc[0]):
        return None
    skips = bool((mean == 0).mean() > 0.01)
    return not any(f.level == "warning" for f in checks.shifted(table, skips))


def surprisal_profile(words: Index, mean: pd.Series) -> bool | None:
    """Return whether surprisals correlate with their word's length and frequency, None if unclear.

    The frequency is that of the word in the texts themselves.
    """
    count = pd.Series(words.spelled).map(pd.Series(words.spelled).value_counts())
    rarity = -np.log(count.to_numpy(dtype=float))
    value = mean.to_numpy()
    r = {lag: _correlated(words, value, (words.lengths, rarity), lag) for lag in LAGS}
    n = _different(words, np.isfinite(value))
    if n < FEWEST or not np.isfinite(r[0]):
        return None
    others = max(r[lag] for lag in LAGS if lag and np.isfinite(r[lag]))
    if r[0] > others + 2 * np.sqrt(2 / n) and r[0] > 3 / np.sqrt(n):
        return True
    return False if others > max(r[0], 0) + 4 * np.sqrt(2 / n) else None


def _different(words: Index, there: np.ndarray) -> int:
    """Return the number of different words in context: texts repeated over conditions count once."""
    before = np.append("", words.spelled[:-1])
    return len(pd.DataFrame({"before": before, "word": words.spelled})[there].drop_duplicates())


def _correlated(words: Index, value: np.ndarray, with_: tuple, lag: int) -> float:
    """Return the mean correlation of values with properties of the word `lag` words on in the item."""
    rows = np.arange(max(0, -lag), len(value) - max(0, lag))
    rows = rows[(words.item[rows] == words.item[rows + lag]) & np.isfinite(value[rows])]
    if len(rows) < 3 or np.ptp(value[rows]) == 0:
        return float("nan")
    correlations = [
        np.corrcoef(value[rows], x[rows + lag])[0, 1] for x in with_ if np.ptp(x[rows + lag])
    ]
    return float(np.mean(correlations)) if correlations else float("nan")
