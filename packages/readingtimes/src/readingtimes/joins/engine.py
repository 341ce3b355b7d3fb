"""Join the rows of a table to words: test candidate alignments, and accept a verified one.

An alignment is verified by identical words, else by identical lengths, else by texts of the same sizes,
else by correlations of the values with word length and frequency. Ambiguous and unverified joins are
refused with a list of candidates.

Evidence for a candidate alignment: identical words, lengths, complete texts, correlations.

The join report, and errors of joins with nearest keys, candidates, and lines that select them.
"""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
import pandas as pd

from readingtimes import checks
from readingtimes.errors import InputError
from readingtimes.joins import KEYS, problem, readings
from readingtimes.joins import index as labels
from readingtimes.joins.index import Index
from readingtimes.joins.readings import Candidate

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


def decide_by_values(
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
    r = {lag: _mean_correlation(words, value, (words.lengths, rarity), lag) for lag in LAGS}
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


def _mean_correlation(words: Index, value: np.ndarray, with_: tuple, lag: int) -> float:
    """Return the mean correlation of values with properties of the word `lag` words on in the item."""
    rows = np.arange(max(0, -lag), len(value) - max(0, lag))
    rows = rows[(words.item[rows] == words.item[rows + lag]) & np.isfinite(value[rows])]
    if len(rows) < 3 or np.ptp(value[rows]) == 0:
        return float("nan")
    correlations = [
        np.corrcoef(value[rows], x[rows + lag])[0, 1] for x in with_ if np.ptp(x[rows + lag])
    ]
    return float(np.mean(correlations)) if correlations else float("nan")


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
    chosen = _check_option(chosen)
    index = labels.index(words)
    distinct, inverse = _distinct(rows)
    allowed = (c for c in readings.candidates(index, distinct) if c.fits(chosen))
    candidates = _distinct_candidates([c for c in allowed if _is_injective(distinct, c)])
    if not candidates:
        no_candidate(where, rows, chosen)
    texts = None
    if "token" in distinct:
        texts = next((c.row for c in candidates if "words" in c.keys), None)
    weighed = [(c, of(index, distinct, c, texts)) for c in candidates]
    problem = Problem(where, index, distinct, weighed)
    if any(candidate.same is not None for _, candidate in weighed):
        best, weight, wrong = _by_words(index, distinct, weighed, problem, bool(chosen), partial)
        verified = "lengths" if "spelled" not in distinct and "token" not in distinct else "words"
    else:
        best, weight, verified = _by_structure(
            index, distinct, weighed, problem, bool(chosen), kind, partial
        )
        wrong = []
    if kind == "surprisal" and follows_neighbour(index, distinct, best):
        problem.refuse("the values follow the lengths of neighbouring words", [(best, weight)])
    misplaced, differ = np.zeros(len(distinct), bool), np.zeros(len(distinct), bool)
    misplaced[wrong], differ[weight.differ] = True, True
    summary = report(index, distinct, best, weight, verified)
    return Join(
        best.row[inverse], misplaced[inverse], differ[inverse], best.whole, verified, summary
    )


def _check_option(chosen: Mapping[str, str] | None) -> dict[str, str]:
    """Return the option `join`; InputError for an unknown key or interpretation."""
    if fault := problem(chosen):
        raise InputError(fault)
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
    keys = [n for n in KEYS if n in rows and n not in ("word", "length")]
    has = candidate.row >= 0
    return len(rows.loc[has, keys].drop_duplicates()) == len(np.unique(candidate.row[has]))


def _distinct_candidates(candidates: list[Candidate]) -> list[Candidate]:
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
    problem: "Problem",
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
            else misplaced(words, rows, best, weight.differ)
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
    problem: "Problem",
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
        passed = decide_by_values(words, rows, [c for c, _ in counted], kind)
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


_VERIFIED = {
    "words": "verified by the words",
    "lengths": "verified by the words' lengths",
    "ids": "verified by the words' ids in their corpus",
    "sizes": "verified by the sizes of the texts",
    "correlation": "verified by the values' correlation with word length",
    "join": "selected by `join`, not verified",
}

#: Maximum number of texts whose first mismatch an error shows.
_TEXTS = 3
_MAP_WORD = "; map `word`, so that the join can be verified"


def report(
    words: Index, rows: pd.DataFrame, best: Candidate, weight: Evidence, verified: str
) -> str:
    """Return the join report: keys, share of rows, share of identical words, three examples."""
    matched = int(rows["rows"].to_numpy()[best.row >= 0].sum())
    text = f"{best.line()}: {matched:,} of {rows['rows'].sum():,} rows have a word"
    text += f"; {_VERIFIED[verified]}"
    if weight.same is not None:
        text += f", {_percent(weight.same)} of which are the same"
    if len(weight.differ) and "word" in rows:
        shown = [
            f"{rows['word'].iloc[row]!r} for {words.words['word'].iloc[best.row[row]]!r}"
            for row in weight.differ[:3]
        ]
        text += f"; not the same: {', '.join(shown)}"
    return text


def no_candidate(where: object, rows: pd.DataFrame, chosen: Mapping[str, str]) -> NoReturn:
    """Raise InputError: no alignment is possible at all."""
    keys = [k for k in ("item", "sentence", "position", "word_id", "offset", "word") if k in rows]
    if chosen:
        chosen_keys = ", ".join(f"{key}: {value}" for key, value in chosen.items())
        raise InputError(
            f"{where}: no row has a word under `join: {{{chosen_keys}}}`; keys in the table: "
            f"{', '.join(keys)}"
        )
    raise InputError(
        f"{where}: no row has a word in the dataset (keys: {', '.join(keys)}); is this the table of "
        "another dataset? If texts have other labels, `items: {label: label}` maps them"
    )


@dataclass(frozen=True)
class Problem:
    """Data for errors about a join."""

    where: object
    words: Index
    rows: pd.DataFrame
    weighed: list[tuple[Candidate, Evidence]]

    def refuse(self, why: str, several: list[tuple[Candidate, Evidence]] | None = None) -> NoReturn:
        """Raise InputError with up to three candidates, their shares and the lines that select them."""
        several = several or sorted(
            self.weighed, key=lambda item: (item[1].identical, item[1].matched), reverse=True
        )
        shown = "; ".join(f"`{c.line()}`: {_shares(e)}" for c, e in several[:3])
        example = ""
        if len(several[0][1].differ) and "word" in self.rows:
            example = f" ({self._differing(*several[0])})"
        way = "" if "word" in self.rows else _MAP_WORD
        raise InputError(f"{self.where}: {why}{example}. Candidates: {shown}{way}")

    def _differing(self, best: Candidate, weight: Evidence) -> str:
        """Describe the first mismatching row of each text."""
        rows = np.sort(np.asarray(weight.differ))
        matched = self.words.words.iloc[best.row[rows]]
        first = rows[~matched["item"].duplicated().to_numpy()]
        described = [
            f"line {self.rows['line'].iloc[row]}: {self.rows['word'].iloc[row]!r}, the words have "
            f"{self.words.words['word'].iloc[best.row[row]]!r} there"
            for row in first[:_TEXTS]
        ]
        if len(first) > _TEXTS:
            described.append(f"and in {len(first) - _TEXTS:,} further texts")
        return "; ".join(described)

    def unmatched(self, candidate: Candidate) -> NoReturn:
        """Raise InputError for the first row without a word, with the nearest key."""
        missing = candidate.row < 0
        row = int(np.argmax(missing))
        count = int(self.rows["rows"].to_numpy()[missing].sum())
        line = self.rows["line"].iloc[row]
        text = f"{self.where}, line {line}: {self._place(row)} has no word ({count:,} such rows); "
        text += self._nearest(row)
        better = [
            (c, e)
            for c, e in self.weighed
            if c is not candidate and e.matched > 1 - missing.mean() and e.matched > 0.5
        ]
        if better:
            c, e = max(better, key=lambda item: item[1].matched)
            text += f"; `{c.line()}` would match {_percent(e.matched)} of rows"
        if "word" not in self.rows:
            text += _MAP_WORD
        raise InputError(text)

    def _place(self, row: int) -> str:
        """Describe a row by its keys."""
        keys = [k for k in ("item", "sentence", "position", "word_id") if k in self.rows]
        parts = []
        for key in keys:
            value = self.rows[key].iloc[row]
            parts.append(f"{key} {value!r}" if not str(value).isdigit() else f"{key} {value}")
        return ", ".join(parts) or f"{self.rows['word'].iloc[row]!r}"

    def _nearest(self, row: int) -> str:
        """Describe the labels or sizes of the words."""
        for key, labels_of_words in (
            ("item", self.words.items),
            ("sentence", self.words.sentences),
        ):
            if key not in self.rows:
                continue
            asked = self.rows[key].iloc[[row]]
            if (labels.look_up(asked, labels_of_words) < 0).all():
                text = f"{key}s of the words are {labels.span(labels_of_words)}"
                if labels.numbers(asked) is None:
                    text += f"; `{key}s: {{{asked.iloc[0]}: {labels_of_words[0]}, …}}` maps {key}s"
                    text += self._by_order(key)
                return text
        return f"the words have {self._size(row)}"

    def _by_order(self, key: str) -> str:
        """Describe the alignment by order of appearance."""
        ordered = [(c, e) for c, e in self.weighed if "order" in c.keys.get(key, ())]
        if not ordered:
            return ""
        _, weight = max(ordered, key=lambda item: (item[1].identical, item[1].matched))
        of = f"{_percent(weight.same)} of words agree" if weight.same is not None else (
            f"{_percent(weight.matched)} of rows have a word"
        )  # fmt: skip
        return f"; by order of appearance (`{key}s: order`) {of}"

    def _size(self, row: int) -> str:
        """Return the number of words of a row's sentence or item, or of all."""
        for key, labels_of_words, start in (
            ("sentence", self.words.sentences, self.words.sentence_start),
            ("item", self.words.items, self.words.item_start),
        ):
            if key in self.rows:
                unit = int(labels.look_up(self.rows[key].iloc[[row]], labels_of_words)[0])
                return f"{start[unit + 1] - start[unit]} words in {key} {labels_of_words[unit]}"
        return f"{len(self.words.words):,} words"


def _shares(weight: Evidence) -> str:
    """Describe the shares of a candidate."""
    text = f"{_percent(weight.matched)} of rows have a word"
    if weight.same is not None:
        text += f", {_percent(weight.same)} of them the same"
    return text


def _percent(share: float) -> str:
    """Return a share in percent, never rounded to 100 % from below."""
    return f"{min(share * 100, 99.9 if share < 1 else 100):.3g} %"
