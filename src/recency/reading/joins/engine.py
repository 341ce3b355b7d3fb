"""Join the rows of a table to words: test candidate alignments, and accept a verified one.

An alignment is verified by identical words, else by identical lengths, else by texts of the same sizes,
else by correlations of the values with word length and frequency. Ambiguous and unverified joins are
refused with a list of candidates.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from recency.errors import InputError
from recency.reading import join_keys
from recency.reading.joins import evidence, readings, refusals
from recency.reading.joins import index as labels
from recency.reading.joins.evidence import Evidence
from recency.reading.joins.index import Index
from recency.reading.joins.readings import Candidate

_ORDERING = ("word_id", "unique_id", "position", "offset")
"""Keys of which each word has its own: rows without one are in reading order."""
_SAME = 0.8
"""Least share of identical words among rows that have one: below, the table has another text."""
_NEAR = 0.02
"""Two alignments whose shares of identical words differ by less are not distinguishable."""
_LOST, _LOST_SHARE = 2, 0.02
"""Rows, and share of them, that an alignment by the words in order may leave out."""
_MISPLACED = 0.1
"""Largest share of rows with another word than theirs that is treated as an error of spelling."""


@dataclass(frozen=True)
class Join:
    """Result of a join: the word of each row.

    Attributes
    ----------
    row : ndarray of int64, shape (rows,)
        Row of the words; -1: none.
    misplaced : ndarray of bool, shape (rows,)
        Rows whose own word is another than the one at their place.
    differ : ndarray of bool, shape (rows,)
        Rows whose word is spelled otherwise (`misplaced` included).
    whole : ndarray of bool, shape (words,), optional
        Of an alignment by characters: words that the rows spell completely.
    verified : str
        words, lengths, ids, sizes, correlation, or join (the option alone).
    report : str
        The join report: keys, shares, three examples of words that differ.
    """

    row: np.ndarray
    misplaced: np.ndarray
    differ: np.ndarray
    whole: np.ndarray | None
    verified: str
    report: str


def join(
    words: pd.DataFrame,
    rows: pd.DataFrame,
    where: object,
    *,
    chosen: Mapping[str, str] | None = None,
    kind: str | None = None,
    partial: bool = False,
) -> Join:
    """Find the word of each row.

    Parameters
    ----------
    words : DataFrame
        Contract 1.
    rows : DataFrame
        Columns as the table has them: item, sentence (str), position, word_id, offset (int64),
        word or token (str), length, and `value` for correlations; `reader` if no key orders the
        rows. The index is the line of the file.
    where : object
        What errors call the table.
    chosen : mapping, optional
        The option `join`: key → how it is read (`join_keys.SETTINGS`).
    kind : {"time", "surprisal"}, optional
        What `value` is.
    partial : bool
        Whether rows may have no word, as those of practice trials: only if the others are verified.

    Raises
    ------
    InputError
        If no alignment is verified, or several are.
    """
    chosen = _checked(chosen)
    index = labels.index(words)
    distinct, inverse = _distinct(rows)
    allowed = (c for c in readings.candidates(index, distinct) if c.fits(chosen))
    candidates = _merged([c for c in allowed if _is_injective(distinct, c)])
    if not candidates:
        refusals.no_candidate(where, rows, chosen)
    texts = None
    if "token" in distinct:
        texts = next((c.row for c in candidates if "words" in c.keys), None)
    weighed = [(c, evidence.of(index, distinct, c, texts)) for c in candidates]
    problem = refusals.Problem(where, index, distinct, weighed)
    if any(candidate.same is not None for _, candidate in weighed):
        best, weight, wrong = _by_words(index, distinct, weighed, problem, bool(chosen), partial)
        verified = "lengths" if "spelled" not in distinct and "token" not in distinct else "words"
    else:
        best, weight, verified = _by_structure(
            index, distinct, weighed, problem, bool(chosen), kind, partial
        )
        wrong = []
    if kind == "surprisal" and evidence.follows_neighbour(index, distinct, best):
        problem.refuse("the values follow the lengths of neighbouring words", [(best, weight)])
    misplaced, differ = np.zeros(len(distinct), bool), np.zeros(len(distinct), bool)
    misplaced[wrong], differ[weight.differ] = True, True
    report = refusals.report(index, distinct, best, weight, verified)
    return Join(
        best.row[inverse], misplaced[inverse], differ[inverse], best.whole, verified, report
    )


def _checked(chosen: Mapping[str, str] | None) -> dict[str, str]:
    """Return the option `join`; InputError for an unknown key or interpretation."""
    if problem := join_keys.problem(chosen):
        raise InputError(problem)
    return dict(chosen or {})


def _distinct(rows: pd.DataFrame) -> tuple[pd.DataFrame, np.ndarray]:
    """Return one row for each combination of keys and word, and the number of each row's.

    Columns `rows` (how many there are of it) and `spelled` are added; `value` is their mean.
    """
    keys = [name for name in rows if name != "value"]
    if "token" in rows or not rows.columns.isin(_ORDERING).any():
        inverse = np.arange(len(rows))
        table = rows[keys].reset_index(names="line")
    else:
        code = np.zeros(len(rows), np.int64)
        for name in keys:
            codes, unique = pd.factorize(rows[name])
            code = pd.factorize(code * (len(unique) + 1) + codes)[0].astype(np.int64)
        first = np.unique(code, return_index=True)[1]
        inverse = code
        table = rows[keys].iloc[first].reset_index(names="line")
    table["rows"] = np.bincount(inverse, minlength=len(table))
    if "value" in rows:
        value = rows["value"].to_numpy(dtype=float)
        has = np.isfinite(value)
        total = np.bincount(inverse[has], value[has], len(table))
        count = np.bincount(inverse[has], minlength=len(table))
        with np.errstate(invalid="ignore", divide="ignore"):
            table["value"] = total / count
    if "word" in table:
        table["spelled"] = labels.spellings(table["word"])
    return table, inverse


def _is_injective(rows: pd.DataFrame, candidate: Candidate) -> bool:
    """Return whether rows with different keys have different words; rows of tokens need not."""
    if "words" in candidate.keys or "token" in rows:
        return True
    keys = [n for n in join_keys.KEYS if n in rows and n not in ("word", "length")]
    has = candidate.row >= 0
    return len(rows.loc[has, keys].drop_duplicates()) == len(np.unique(candidate.row[has]))


def _merged(candidates: list[Candidate]) -> list[Candidate]:
    """Return the first candidate of each distinct alignment."""
    kept: dict[bytes, Candidate] = {}
    for candidate in candidates:
        key = candidate.row.tobytes()
        if (candidate.row >= 0).any() and (key not in kept or candidate.whole is not None):
            before = kept.get(key)
            keys = candidate.keys if before is None else before.keys
            kept[key] = Candidate(keys, candidate.row, None if before else candidate.whole)
    return list(kept.values())


def _by_words(
    words: Index,
    rows: pd.DataFrame,
    weighed: list[tuple[Candidate, Evidence]],
    problem: refusals.Problem,
    is_chosen: bool,
    partial: bool,
) -> tuple[Candidate, Evidence, list[int]]:
    """Return the alignment with the most matching words, and the rows that do not match."""
    best, weight = max(weighed, key=lambda item: (round(item[1].identical, 9), item[1].matched))
    if weight.same is None or weight.same < _SAME:
        problem.refuse("no alignment gives the rows their own words")
    if "words" in best.keys:
        best = _whole_texts(rows, best)
        has = best.row >= 0
        lost = int((~has & _texts_in(rows, has)).sum()) + len(weight.differ)
        if lost > max(_LOST, _LOST_SHARE * len(rows)) or has.mean() < 0.5:
            problem.refuse("the words in order leave out too many rows", [(best, weight)])
    rivals = [
        (c, e)
        for c, e in weighed
        if c is not best
        and e.identical >= weight.identical - _NEAR
        and _contradict(c.row, best.row)
    ]
    if len(weight.differ) and any(e.identical < weight.identical for _, e in rivals):
        problem.refuse("several alignments fit", [(best, weight), *rivals])
    keyed = [(c, e) for c, e in weighed if e.matched == 1 and "words" not in c.keys]
    keyed = [(c, e) for c, e in keyed if _contradict(c.row, best.row)]
    if "words" in best.keys and keyed and not weight.fits and not is_chosen:
        problem.refuse("the keys say one thing and the words another", [(best, weight), *keyed])
    wrong = []
    if len(weight.differ):
        share = len(weight.differ) / max(1, int((best.row >= 0).sum()))
        wrong = (
            weight.differ.tolist()
            if share > 2 * _MISPLACED or "words" in best.keys
            else evidence.misplaced(words, rows, best, weight.differ)
        )
        if len(wrong) > _MISPLACED * len(rows) and len(wrong) > 1:
            problem.refuse("many rows have another word than their own", [(best, weight)])
    if weight.matched < 1 and not partial:
        problem.unmatched(best)
    return best, weight, wrong


def _texts_in(rows: pd.DataFrame, has: np.ndarray) -> np.ndarray:
    """Return the rows of texts (items of the table) of which at least half of the rows match."""
    if "item" not in rows:
        return np.ones(len(rows), bool)
    return pd.Series(has).groupby(rows["item"].to_numpy()).transform("mean").to_numpy() >= 0.5


def _whole_texts(rows: pd.DataFrame, candidate: Candidate) -> Candidate:
    """Drop scattered rows of texts that the words lack."""
    inside = _texts_in(rows, candidate.row >= 0)
    return Candidate(candidate.keys, np.where(inside, candidate.row, -1), candidate.whole)


def _contradict(one: np.ndarray, other: np.ndarray) -> bool:
    """Return whether two alignments give a row different words."""
    return bool(((one != other) & (one >= 0) & (other >= 0)).any())


def _by_structure(
    words: Index,
    rows: pd.DataFrame,
    weighed: list[tuple[Candidate, Evidence]],
    problem: refusals.Problem,
    is_chosen: bool,
    kind: str | None,
    partial: bool,
) -> tuple[Candidate, Evidence, str]:
    """Return the alignment verified by sizes of texts or by values, and the kind of evidence."""
    pool = [pair for pair in weighed if pair[1].matched == 1]
    if not pool and partial:
        pool = [pair for pair in weighed if _whole_texts_missing(rows, *pair)]
    if not pool:
        problem.unmatched(max(weighed, key=lambda pair: pair[1].matched)[0])
    fits = [pair for pair in pool if pair[1].is_complete and "rows" not in pair[0].keys]
    ids = [pair for pair in pool if _has_names(rows, pair[0])]
    if ids and not any(_contradict(c.row, ids[0][0].row) for c, _ in fits):
        return *ids[0], "ids"
    if len(fits) == 1:
        return *fits[0], "sizes"
    # The k-th row of a text is its k-th word: sizes are given, and correlations decide if none is missing.
    counted = [pair for pair in pool if pair[1].fits]
    if kind is not None and counted:
        passed = evidence.decided(words, rows, [c for c, _ in counted], kind)
        if len(passed) == 1:
            return *next(pair for pair in counted if pair[0] is passed[0]), "correlation"
    if is_chosen and len(pool) == 1:
        return *pool[0], "join"
    several = fits or pool
    why = "several alignments fit" if len(several) > 1 else "nothing verifies the alignment"
    problem.refuse(why, several)


def _has_names(rows: pd.DataFrame, candidate: Candidate) -> bool:
    """Return whether an alignment is by ids that are names, unlike numbers."""
    return "unique_id" in candidate.keys and labels.numbers(rows["unique_id"].unique()) is None


def _whole_texts_missing(rows: pd.DataFrame, candidate: Candidate, weight: Evidence) -> bool:
    """Return whether the rows without a word are whole texts, and the others complete texts."""
    text = [name for name in ("item", "sentence") if name in rows][:1]
    if not text or not weight.is_complete:
        return False
    has = pd.Series(candidate.row >= 0).groupby(rows[text[0]].to_numpy()).agg(["any", "all"])
    return bool((has["any"] == has["all"]).all() and has["all"].any())
