"""Checks of a dataset that stop its analysis, unless the config overrides them by name.

A regression on times of another word, in another unit, or with a reader counted twice runs, but its
result is meaningless. `readingtimes.overrides` lists the names.

Refuse reading times that are shifted relative to their words.

A regression of one word's times on another word's surprisal runs, but its result is meaningless. The
correlations are those of `readingtimes.checks`.
"""

import re
from collections.abc import Callable, Collection
from unicodedata import normalize

import numpy as np
import pandas as pd

from readingtimes import checks, overrides, text_languages
from readingtimes.checks import Finding
from readingtimes.contracts import are_to_regions, response_column

_MOVES = (1, -1, 2, -2)


def require_aligned(
    words: pd.DataFrame,
    responses: pd.DataFrame,
    name: str,
    accept: Collection[str] = (),
    offset: int | None = None,
) -> None:
    """Raise InputError if mean times correlate with the length of a neighbouring word.

    Amplitudes, scores, times of marked regions and of too few words are not tested. Shifted times
    that the config permits are a warning.

    Parameters
    ----------
    words, responses : DataFrame
        Contracts 1 and 2, before the filters.
    name : str
        Name of the responses in messages: <dataset>.<measure>.
    accept : collection of str
        The dataset's `accept`; "shifted" permits shifted times.
    offset : int, optional
        The parser's shift of the times in words; None if it has no such option.
    """
    if "time_ms" not in responses or are_to_regions(words, responses):
        return
    table = checks.alignment(words, checks.means(words, responses, "time_ms"))
    skips = checks.are_skipped(responses.time_ms)
    warnings = [f for f in checks.shifted(table, skips) if f.level == "warning"]
    if not warnings:
        return
    r = table.set_index("offset").r
    shown = ", ".join(f"{k:+d}: {r[k]:.2f}" if k else f"0: {r[k]:.2f}" for k in checks.OFFSETS)
    text = (
        f"{warnings[0].text}. Correlation of mean times with the length of the word k places on "
        f"({table.n[0]:,} words), k: r = {shown}"
    )
    where = f"datasets → {name.partition('.')[0]}"
    way_out = _remedy(where, _correction(table, skips), offset)
    overrides.refuse("shifted", name, text, way_out, where, accept)


def _correction(table: pd.DataFrame, skips: bool) -> int | None:
    """Return the shift in words that aligns times with their own word, None if unknown."""
    r = table.set_index("offset").r
    for move in _MOVES:
        moved = table.assign(r=r.reindex(r.index + move).to_numpy())
        judged = checks.shifted(moved, skips)
        if r[move] >= r.max() / 2 and not any(f.level == "warning" for f in judged):
            return move
    return None


def _remedy(where: str, move: int | None, offset: int | None) -> str:
    """Return how to shift the times: by the parser's `offset`, or in the file."""
    if move is not None and offset is not None:
        return (
            f"Set `options: {{offset: {offset + move}}}` under {where}, with which times follow "
            "their own word"
        )
    if move is not None:
        count = "one word" if abs(move) == 1 else f"{abs(move)} words"
        later = "later" if move > 0 else "earlier"
        return f"Move each time of {where} {count} {later} in its file"
    return f"Check which words the times of {where} belong to"


#: Maximum share of single-word items, if there are at least this many items.
SINGLE_WORDS, ITEMS = 0.8, 10
#: Plausible range of the median reading time per word, ms.
SHORTEST, LONGEST = 40, 5_000
#: Clock times: maximum share of steps to a later word with growing times, minimum number of steps, and
#: minimum ratio of the highest to the lowest decile.
GROWING, STEPS, SPREAD = 0.95, 200, 4
#: Duplicates: minimum number of words with the same times, and of distinct times.
SAME_WORDS, SAME_TIMES = 20, 10
#: A subject of means: least number of others, and largest median deviation from their mean, in median
#: deviations of its own responses from their median: an hour's pause of somebody is no measure of them.
OTHERS, SAME_AS_MEAN = 4, 0.02
#: Maximum share of readings of an item in several conditions, where the design is to be a Latin square.
LATIN = 0.1
#: Medians below the first indicate seconds, below the second logarithms of ms.
_SECONDS, _LOGARITHMS = 3.5, 10
_SHOWN = 3


def require_usable(
    words: pd.DataFrame,
    responses: pd.DataFrame,
    name: str,
    accept: Collection[str] = (),
    offset: int | None = None,
    language: str | None = None,
) -> None:
    """Raise InputError if words or times fail a check.

    Parameters
    ----------
    words, responses : DataFrame
        Contracts 1 and 2, before the filters.
    name : str
        Name of the responses in messages: <dataset>.<measure>.
    accept : collection of str
        The dataset's `accept`: these checks only warn.
    offset : int, optional
        The parser's shift of the times in words; None if it has no such option.
    language : str, optional
        ISO 639 code of the dataset's language; default None, not checked.
    """
    where = f"datasets → {name.partition('.')[0]}"
    for check, (find, way_out) in CHECKS.items():
        if problem := find(words, responses):
            overrides.refuse(check, name, problem, way_out.format(where=where), where, accept)
    if language and (problem := text_languages.contradicts(words, language)):
        way_out = f"State the language of {where}, as `language: de`"
        overrides.refuse("language", name, problem, way_out, where, accept)
    require_aligned(words, responses, name, accept, offset)


def findings(words: pd.DataFrame, responses: pd.DataFrame) -> list[Finding]:
    """Return the failed checks, other than alignment, as warnings."""
    results = ((check, find(words, responses)) for check, (find, _) in CHECKS.items())
    return [Finding("warning", check, problem) for check, problem in results if problem]


def no_context(words: pd.DataFrame, responses: pd.DataFrame) -> str:
    """Describe single-word texts, "" if texts have context."""
    sizes = words.groupby("item", sort=False).size()
    single = float((sizes == 1).mean())
    if len(sizes) < ITEMS or single <= SINGLE_WORDS:
        return ""
    return (
        f"{single:.0%} of the {len(sizes):,} texts (items) are a single word, such as "
        f"{words.word.iloc[0]!r}, so no word has a context"
    )


def units(words: pd.DataFrame, responses: pd.DataFrame) -> str:
    """Describe times that are not in ms, "" for plausible times and other responses."""
    if "time_ms" not in responses:
        return ""
    times = responses.time_ms[responses.time_ms > 0]
    if times.empty:
        return "no time is above 0"
    median = float(times.median())
    share, steps = _growing(words, responses)
    low, high = times.quantile([0.1, 0.9])
    if steps >= STEPS and share > GROWING and high > SPREAD * low:
        return (
            f"times grow from word to word in {share:.0%} of {steps:,} steps within a text: are "
            "they clock times from its start?"
        )
    if median < SHORTEST or median > LONGEST:
        guess = _unit(median)
        return f"the median time is {median:,.6g}, which is no reading time in ms: {guess}?"
    return ""


def duplicates(words: pd.DataFrame, responses: pd.DataFrame) -> str:
    """Describe subjects that may be one reader, "" if there are none."""
    names = responses.subject.astype(str).unique()
    same: dict[object, list[str]] = {}
    for name in names:
        same.setdefault(_reader(name), []).append(name)
    groups = [sorted(subjects) for subjects in same.values() if len(subjects) > 1]
    if groups:
        shown = "; ".join(" and ".join(map(repr, subjects)) for subjects in groups[:_SHOWN])
        return f"subjects that are written in two ways: {shown} ({len(groups):,} in all)"
    if pairs := _copies(words, responses):
        first, second, item, count = pairs[0]
        return (
            f"subjects {first!r} and {second!r} have the same responses to all {count:,} words of "
            f"text {item!r} ({len(pairs):,} such texts)"
        )
    return _average(responses)


def _average(responses: pd.DataFrame) -> str:
    """Describe a subject whose responses are the means of all others' to each word, "" without one."""
    value = response_column(responses, "responses")
    by_word = responses.groupby("word_id", sort=False)[value]
    others = by_word.transform("size") - 1
    mean = (by_word.transform("sum") - responses[value]) / others.where(others >= OTHERS)
    subject = responses.subject
    middle = responses[value].groupby(subject, sort=False, observed=True).transform("median")
    own, apart = (
        (responses[value] - of).abs().groupby(subject, sort=False, observed=True)
        for of in (middle, mean)
    )
    found = (apart.median() < SAME_AS_MEAN * own.median()) & (apart.count() >= SAME_WORDS)
    found = found.index[found]
    if found.empty:
        return ""
    return f"the responses of subject {found[0]!r} are the means of the other subjects: is it no reader?"


def conditions(words: pd.DataFrame, responses: pd.DataFrame) -> str:
    """Describe readings of an item in a second condition, "" unless nearly all are in one (a Latin square)."""
    if not {"stimulus", "condition"} <= set(words) or (responses.subject == "mean").all():
        return ""
    labels = words.set_index("word_id")[["stimulus", "condition"]].reindex(responses.word_id)
    read = labels.assign(subject=responses.subject.to_numpy()).drop_duplicates()
    several = read.groupby(["subject", "stimulus"], sort=False, observed=True).condition.agg(list)
    wrong = several[several.map(len) > 1]
    if wrong.empty or len(wrong) > LATIN * len(several):
        return ""
    (subject, stimulus), found = wrong.index[0], wrong.iloc[0]
    return (
        f"subject {subject!r} read item {stimulus!r} in the conditions {' and '.join(map(repr, found))}; "
        f"{len(several) - len(wrong):,} of {len(several):,} readings of an item are in one condition"
    )


Check = Callable[[pd.DataFrame, pd.DataFrame], str]
#: Check → its function, and the way out.
CHECKS: dict[str, tuple[Check, str]] = {
    "no_context": (
        no_context,
        "Give {where} the column of the texts within which context runs (item), not one of words",
    ),
    "mixed_languages": (
        text_languages.mixed,
        "Give the texts of each language a dataset of their own, with its `language`",
    ),
    "units": (units, "Convert the times of {where} to ms in their file"),
    "duplicates": (duplicates, "Write each subject of {where} in one way, and each reading once"),
    "conditions": (
        conditions,
        "Correct the subjects, items or conditions of {where}, or filter such readings out of the file",
    ),
}


def _unit(median: float) -> str:
    """Guess the unit of times by their median."""
    if median < SHORTEST:
        guesses = {_SECONDS: "are they seconds", _LOGARITHMS: "are they logarithms of ms"}
        return next(
            (g for limit, g in guesses.items() if median < limit), "are they ticks or 10 ms"
        )
    if median > 1e9:
        return "are they clock times (Unix timestamps)"
    return "are they microseconds" if median > 50_000 else "are they sums over words, or 0.1 ms"


def _growing(words: pd.DataFrame, responses: pd.DataFrame) -> tuple[float, int]:
    """Return the share of steps to a later word with growing times, and the number of steps."""
    if "fixation" in responses:
        return 0.0, 0
    item = words.set_index("word_id")["item"].reindex(responses.word_id).to_numpy()
    subject, time = responses.subject.to_numpy(), responses.time_ms.to_numpy()
    order, fixated = responses.word_id.to_numpy(), responses.time_ms.to_numpy() > 0
    item, subject, time, order = (values[fixated] for values in (item, subject, time, order))
    step = (item[1:] == item[:-1]) & (subject[1:] == subject[:-1]) & (order[1:] > order[:-1])
    if not step.any():
        return 0.0, 0
    return float((np.diff(time) > 0)[step].mean()), int(step.sum())


def _reader(name: str) -> object:
    """Normalise a reader's label: a number, or text without case and zeros before its numbers."""
    text = re.sub(r"(?<![\d.])0+(?=\d)", "", normalize("NFKC", name).strip().casefold())
    return float(text) if re.fullmatch(r"[+-]?\d+(\.\d*)?", text, re.ASCII) else text


def _copies(words: pd.DataFrame, responses: pd.DataFrame) -> list[tuple[str, str, str, int]]:
    """Return (subject, other subject, text, words) for readings with identical responses.

    Of a text that is too short to tell, only where most responses of a subject are those of the other.
    """
    value = response_column(responses, "responses")
    item = words.set_index("word_id")["item"].reindex(responses.word_id).to_numpy()
    rows = pd.DataFrame({"subject": responses.subject.to_numpy(), "item": item})
    keys = responses[["word_id", value]]
    rows["hash"] = pd.util.hash_pandas_object(keys, index=False).to_numpy()
    rows[value] = responses[value].to_numpy()
    readings = rows.groupby(["subject", "item"], sort=False, observed=True).agg(
        digest=("hash", "sum"), size=("hash", "size"), different=(value, "nunique")
    )
    keys = ["item", "digest", "size"]
    readings = readings[readings.different > 1].reset_index()
    pairs = readings.merge(readings.drop_duplicates(keys), on=keys, suffixes=("", "_first"))
    pairs = pairs[pairs.subject != pairs.subject_first]
    long = (pairs["size"] >= SAME_WORDS) & (pairs.different >= SAME_TIMES)
    both = [pairs.subject_first, pairs.subject]
    same = pairs[["size", "different"]].groupby(both, sort=False).transform("sum")
    total = responses.groupby("subject", sort=False, observed=True).size()
    fewest = np.minimum(*(total.reindex(each).to_numpy() for each in both))
    most = same["size"] > fewest / 2
    short = (same["size"] >= SAME_WORDS) & (same.different >= SAME_TIMES) & most
    return [
        (str(pair.subject_first), str(pair.subject), str(pair["item"]), int(pair["size"]))
        for _, pair in pairs[long | short].iterrows()
    ]
