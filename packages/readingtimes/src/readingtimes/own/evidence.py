"""Evidence against a reading of a user's table: what its words, readers and times would then be.

That a parser reads a table is no evidence for the roles of its columns: with a column of readers given
up, each text stands there once for each of them, and with one of positions any order of rows is a text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from readingtimes import checks, gate
from readingtimes.contracts import response_column
from readingtimes.errors import InputError
from readingtimes.measures import MEASURES
from readingtimes.own import roles
from readingtimes.own.columns import matching
from readingtimes.sentences import FINAL

if TYPE_CHECKING:
    from readingtimes.own.begin import Described
    from readingtimes.own.columns import Column

_PERIOD, _SAME = 5, 20
"""Words that a repeated text has at least, and that two texts of the same words have."""
_ENDS, _CAPITALS = 10, 0.5
"""Sentence ends that are looked at, at least, and the share of them that a capital follows."""
_RUN = 20
"""Responses in a row of one reader that are the same."""
_KEPT = (100, 3000)
"""Ends of the times that are kept by the filter with which an entry of button presses begins, ms."""
FILTER = f"{_KEPT[0]} < time_ms < {_KEPT[1]}"
_OTHER_UNIT = 8
"""Times that the median of a text, of `_FEW` words at least, is above or below that of all."""
_FEW = 3
"""Times, or words of a text, in another unit, at least: one may be a key that was held."""
_MANY, _EVEN = 100, 0.08
"""Times, and the least coefficient of variation of a reader's; logarithms have .02 to .06."""
_SHORT = 20
"""Milliseconds that nobody reads a word in."""
_SKEW = 0.15
"""Least (P95 + P5 − 2 P50) / (P95 − P5) of logarithms of reciprocal times, below 0; times have .2 to .4 above 0."""
_LONG = 1_500
"""Milliseconds that the median time of a fixated word is below."""
_PUNCTUATED = re.compile(r"[.,;:?!…]\W*$")
_MARKS = 0.005
"""Least share of punctuation within texts that have it."""
_WHAT = {
    "subject": "readers",
    "item": "texts",
    "sentence": "sentences",
    "position": "positions",
}


def of_cells(table: Described, used: Iterable[str]) -> list[str]:
    """Return the cells of columns of numbers that are none; `used` are columns or patterns with a role."""
    names = [column.name for column in table.columns]
    used = {column for each in used for column in (each, *matching(each, names))}
    return [
        f"{table.path}, line {column.odd[0]}: {column.name} is {column.odd[1]!r}, no number "
        f"({column.odd[2]:,} such cells); correct it, or list what stands for a missing value: "
        f"`missing: [{column.odd[1]}]`"
        for column in table.columns
        if column.odd and column.name in used
    ]


def of_unused(table: Described, mapped: Mapping[str, object], needed: tuple[str, ...]) -> list[str]:
    """Return the columns named like a role that a reading gives up.

    Parameters
    ----------
    table : Described
        The table.
    mapped : mapping
        Role → column, or columns, of the reading.
    needed : tuple of str
        The roles that the table should have.
    """
    against, by = [], {column.name: column for column in table.columns}
    for role in needed:
        counts = table.roles.positions if role == "position" else []
        similar = [*counts, *roles.named_like(role, table.columns)]
        users = ("position", "unique_id") if role == "position" else (*_WHAT, "word", "unique_id")
        taken: set[str] = set()
        for column in filter(
            None, map(mapped.get, users)
        ):  # of those kept for formulas, none is used
            taken |= {column} if isinstance(column, str) else set(column)
        named = [name for name in similar if name not in taken]
        is_sentence = role == "item" and mapped.get("item") == mapped.get("sentence")
        if named and (is_sentence or not mapped.get(role)):
            against.append(
                f"{named[0]} looks like {_WHAT[role]}{_doubt(table, by[named[0]], role)}, and is not used as such: "
                f"`{role}: {mapped.get(role) or 'null'}`"
            )
    return against


def _doubt(table: Described, column: Column, role: str) -> str:
    """Return what keeps a column from its role: cells that were merged, words lost before its first."""
    if column.missing > len(table.table.frame) / 2:
        return f", but {column.missing:,} of {len(table.table.frame):,} cells are empty (merged cells? Fill each)"
    if role == "position" and column.low > 1:
        return f", but begins at {column.low:g} (are the words before it lost?)"
    return ""


def of_words(words: pd.DataFrame, is_numbered: bool) -> tuple[list[str], list[str]]:
    """Return what speaks against words (contract 1), and notes.

    Parameters
    ----------
    words : DataFrame
        The words.
    is_numbered : bool
        Whether positions order them, and not the rows of the table.
    """
    texts = {str(name): of.tolist() for name, of in words.groupby("item", sort=False).word}
    found = checks.words(words)
    against = [f.text for f in found if f.check == "encoding"]
    for name, tokens in texts.items():
        if (times := _repetitions(tokens)) > 1:
            against.append(
                f"text {name} is the same {len(tokens) // times:,} words {times:,} times over: a column of "
                "readers or texts is missing, or the table stands there twice"
            )
            break
    same: dict[tuple, str] = {}
    for name, tokens in texts.items():
        if len(tokens) >= _SAME and (other := same.setdefault(tuple(tokens), name)) != name:
            against.append(f"texts {other} and {name} have the same {len(tokens):,} words")
            break
    if not is_numbered:
        against += _disorder(texts)
    notes = [f.text for f in found if f.check in ("words", "sentences")]
    return against, [*notes, *_cut_texts(texts)]


def of_responses(
    words: pd.DataFrame, responses: pd.DataFrame, name: str, measure: str
) -> tuple[list[str], list[str]]:
    """Return what speaks against responses (contract 2) of these words, the most telling first, and notes.

    Notes are of what may be intended: subjects with few responses, and words without any.
    """
    value = response_column(responses, "responses")
    found = checks.responses(words, responses, value)
    notes = [finding.text for finding in found if finding.check == "missing"]
    of_eyes = measure in MEASURES and MEASURES[measure].of_eyes
    zeros = 0 if of_eyes or value != "time_ms" else int((responses.time_ms == 0).sum())
    if zeros:
        notes.append(f"{zeros:,} times of {measure} are 0: do they stand for missing values?")
    is_left_out = (responses[value] != 0) & ~_are_kept(responses, measure)
    if run := _longest_run(words, responses, is_left_out):
        notes.append(f"{run}, which the filter leaves out: a key that was held?")
    return list(_against(words, responses, name, measure, found)), notes


def _against(
    words: pd.DataFrame,
    responses: pd.DataFrame,
    name: str,
    measure: str,
    found: list[checks.Finding],
) -> Iterator[str]:
    """Yield what speaks against responses, with the `found` of their checks."""
    value = response_column(responses, "responses")
    item = words.set_index("word_id")["item"].reindex(responses.word_id).to_numpy()
    if value == "time_ms":
        times = responses.time_ms.where(responses.time_ms > 0)
        read = responses.word_id.where(times.notna()).groupby(item, sort=False).nunique()
        medians = times.groupby(item, sort=False).median()[read >= _FEW]
        ratio = medians / times.median()
        odd = ratio[(ratio > _OTHER_UNIT) | (ratio < 1 / _OTHER_UNIT)]
        if len(odd):
            yield (
                f"the median time of text {odd.index[0]} is {medians[odd.index[0]]:,.4g} ms, of all "
                f"{times.median():,.4g}: another unit? ({len(odd):,} such texts)"
            )
    for finding in found:
        if finding.level == "warning" and (
            finding.check == "constants" or "of another size" in finding.text
        ):
            yield finding.text
    if value == "time_ms":
        yield from _of_units(words, responses)
    if run := _longest_run(words, responses, _are_kept(responses, measure)):
        yield run
    yield from (finding.text for finding in gate.findings(words, responses))
    if value == "time_ms":
        yield from _of_shape(responses, measure)
    try:
        gate.require_aligned(words, responses, name)
    except InputError as error:
        yield str(error)
        return
    # Words with one neighbour on either side are many more in short sentences.
    table = checks.alignment(words, checks.means(words, responses, value), reach=1)
    if value == "time_ms":
        shifted = checks.shifted(table, checks.are_skipped(responses.time_ms))
        yield from (finding.text for finding in shifted if finding.level == "warning")
        r, chance = table.set_index("offset").r, 3 / np.sqrt(max(int(table.n.iloc[0]), 1))
        if min(r[0], r[-1]) < -chance and r[0] < 0 and r[-1] < chance and len(words) >= _MANY:
            yield (
                f"mean times fall with the length of words (r = {r[0]:.2f}): are they speeds, such as "
                "1000/RT, or of other words?"
            )


def _are_kept(responses: pd.DataFrame, measure: str) -> pd.Series:
    """Return which responses the filter that an entry begins with keeps."""
    value = response_column(responses, "responses")
    if value == "time_ms" and not (measure in MEASURES and MEASURES[measure].of_eyes):
        return responses.time_ms.between(*_KEPT, inclusive="neither")
    return responses[value] != 0


def _longest_run(words: pd.DataFrame, responses: pd.DataFrame, among: pd.Series) -> str:
    """Describe a reader's longest run of one response `among` those, "" if it is short."""
    if among.sum() < _RUN:
        return ""
    value = response_column(responses, "responses")
    key = responses[["subject", value]].astype({"subject": "str"})
    if value != "time_ms":  # the same rating of many sentences is usual
        key["item"] = words.set_index("word_id")["item"].reindex(responses.word_id).to_numpy()
    run = (key != key.shift()).any(axis=1).cumsum()
    lengths = run[among].value_counts()
    if lengths.empty or lengths.iloc[0] < _RUN or responses[value].nunique() == 1:
        return ""
    at = responses[run == lengths.index[0]].iloc[0]
    return (
        f"subject {at.subject} has {at[value]:g} {lengths.iloc[0]:,} times in a row, from the word "
        f"{words.word.iloc[int(at.word_id)]!r} of text {words['item'].iloc[int(at.word_id)]}"
    )


def _of_units(words: pd.DataFrame, responses: pd.DataFrame) -> Iterator[str]:
    """Yield logarithms, single times in seconds, and a number of nines that stands for none."""
    given = responses[responses.time_ms > 0]
    within = given.groupby("subject", sort=False).time_ms
    spread = float((within.std() / within.mean()).median())
    if len(given) > _MANY and within.ngroups > 1 and spread < _EVEN:
        yield (
            f"the times of a reader have a standard deviation of {spread:.1%} of their mean, too little for "
            "reading times: are they logarithms?"
        )
    low, high = given.time_ms.quantile([0.02, 0.98])
    in_seconds = given.time_ms * 1000
    short = given[(given.time_ms < _SHORT) & (in_seconds > low) & (in_seconds < high)]
    if len(short) >= _FEW:
        first = short.iloc[0]
        yield (
            f"{len(short):,} times are a thousandth of the others, such as {first.time_ms:g} of subject "
            f"{first.subject} at the word {words.word.iloc[int(first.word_id)]!r}: are they seconds?"
        )
    highest = given.time_ms.max()
    nines = given[given.time_ms == highest]
    below = given.time_ms[given.time_ms < highest].max()
    if len(nines) > 1 and re.fullmatch(r"9{4,}", f"{highest:.0f}") and highest > 2 * below:
        yield (
            f"{len(nines):,} times are {highest:.0f}, and the next is {below:g}: does it stand for a "
            f"missing value? Leave these cells empty"
        )


def _of_shape(responses: pd.DataFrame, measure: str) -> Iterator[str]:
    """Yield times whose distribution is that of reciprocals or of residuals above 0, or far too long."""
    of_eyes = measure not in MEASURES or MEASURES[measure].of_eyes
    given = responses[responses.time_ms > 0]
    if of_eyes:
        median = given.time_ms.median()
        if measure in MEASURES and "span" not in responses and median > _LONG:
            yield f"the median {MEASURES[measure].title} is {median:,.4g} ms: in another unit?"
        return
    logs = np.log(given.time_ms)
    logs -= logs.groupby(given.subject).transform("median")
    if len(logs) < _MANY:
        return
    low, middle, high = logs.quantile([0.05, 0.5, 0.95])
    skew = (high + low - 2 * middle) / (high - low) if high > low else 0.0
    are_whole = np.isclose(given.time_ms % 1, 0).mean() > 0.9
    are_short = (given.time_ms < _SHORT).mean() > 0.01
    if skew < -_SKEW - 1 / np.sqrt(len(logs)) and (are_short or not are_whole):
        yield (
            "short times are spread more widely than long ones, unlike reading times: are they speeds, such "
            "as 1000/RT, residuals, or z-scores?"
        )


def _cut_texts(texts: Mapping[str, list[str]]) -> Iterator[str]:
    """Yield notes on texts that begin or end within a sentence: parts of a text may be meant."""
    tokens = [token for of in texts.values() for token in of]
    marks = sum(bool(_PUNCTUATED.search(token)) for of in texts.values() for token in of[:-1])
    if marks <= _MARKS * len(tokens):
        return
    open_ = [name for name, of in texts.items() if not FINAL.search(of[-1])]
    if open_:
        yield (
            f"{len(open_):,} of {len(texts):,} texts end within a sentence, such as {open_[0]} in "
            f"{texts[open_[0]][-1]!r}: were last words lost, or are they parts of one text?"
        )
    inside = [b for of in texts.values() for a, b in pairwise(of) if FINAL.search(a)]
    capitals = sum(word[0].isupper() for word in inside)
    small = [name for name, of in texts.items() if of[0][0].islower()]
    if small and len(inside) >= _ENDS and capitals > 0.9 * len(inside):
        yield (
            f"{len(small):,} of {len(texts):,} texts begin with a small letter, such as {small[0]} with "
            f"{texts[small[0]][0]!r}: were first words lost?"
        )


def _repetitions(tokens: list[str]) -> int:
    """Return how many times a text repeats its beginning as a whole; 1: it does not."""
    for period in range(_PERIOD, len(tokens) // 2 + 1):
        times, rest = divmod(len(tokens), period)
        if rest == 0 and tokens[period] == tokens[0] and tokens == tokens[:period] * times:
            return times
    return 1


def _disorder(texts: Mapping[str, list[str]]) -> list[str]:
    """Return a statement if small letters follow sentence ends in a text that has capitals."""
    follow = np.array(
        [
            after[0].isupper()
            for tokens in texts.values()
            for word, after in pairwise(tokens)
            if word[-1] in ".!?" and after[0].isalpha() and after[0].lower() != after[0].upper()
        ]
    )
    initial = sum(token[0].isupper() for tokens in texts.values() for token in tokens)
    if len(follow) < _ENDS or initial < _ENDS or follow.mean() >= _CAPITALS:
        return []
    share = f"{(~follow).sum():,} of {len(follow):,} sentence ends"
    return [f"a small letter follows {share}: are rows out of order? There are no positions"]
