"""Guess the roles of a table's columns from names and values.

Recognise measures by their values: nested eye-movement durations, slow maze times.

Recognise columns of surprisals, their unit, and their LMs.
"""

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from readingtimes.measures import MEASURES
from readingtimes.own.columns import RESPONSES, TAKEN, WORDS, Column, matching
from readingtimes.own.usual_names import is_named, snake
from readingtimes.response_names import RESPONSES as VALUES

EYES = tuple(name for name, measure in MEASURES.items() if measure.columns and measure.of_eyes)
_NEIGHBOUR = r"(^|_)(prev(ious)?|next|lag(ged)?)\d?($|_)"
_NO_TIME = re.compile(
    r"surp|log|freq|work_?time|seconds?_?(spent|total)|(^|_)age$|date|stamp|answer|question|entropy|onset|start|_x$|_y$|count|index|prob|length|correct|(^|_)(sd|se|n)$"
    r"|resid|(^|_)z(_?scores?)?($|_)|^z_?rts?$|scaled?($|_)|cent(e?red|ered)|" + _NEIGHBOUR
)
"""Of numbers that are no times, or that are computed from them, such as residuals."""
_LM = re.compile(
    r"(^|_)(\w*gpt|\w*bert|pythia|llama|opt(?![a-z])|mistral|gemma|qwen|mamba|rwkv|lstm|rnn|\d_?gram|n_?gram|"
    r"trigram|bigram|transformer|txl|smollm|olmo)\w*"
)
"""A language model's name, as of a column of its surprisals."""
_MILLISECONDS, _SECONDS = (40, 20_000), (0.04, 20)
_BELOW = 0.05
"""Maximum share of numbers below 0 in times, such as -999, which the parser names by their lines."""
_LONGEST = 1e6  # maximum time, ms
_LONGEST_MEDIAN = 3  # median of times per word, s
_PREDICTORS = ("surprisal", "unigram", "length", "log_trigram", "words", "responses")
_LETTERED = 0.8  # minimum share of words among the different texts of a column of words
_LOST = 0.05  # maximum share of missing labels
_MOST = 24  # maximum number of further columns to keep


@dataclass
class Roles:
    """Guessed roles: role → column, measure → column or pattern, and further columns to keep."""

    of: dict[str, str] = field(default_factory=dict)
    measures: dict[str, str] = field(default_factory=dict)
    others: dict[str, str] = field(default_factory=dict)
    seconds: bool = False
    wide: bool = False
    positions: list[str] = field(default_factory=list)


def guess(columns: Sequence[Column], rows: int) -> Roles:
    """Guess the roles of a table's columns."""
    roles = Roles()
    for role in ("subject", "sentence", "item", "position", "space_after", "word"):
        _role(roles, role, columns, rows)
    _wide(roles, columns)
    if not roles.wide:
        _times(roles, columns)
    used = {*roles.of.values(), *roles.measures.values()}
    for pattern in roles.measures.values():
        used |= set(matching(pattern, [column.name for column in columns]))
    for column in columns:
        if column.name in used or column.distinct < 2 or column.name.startswith("unnamed_"):
            continue
        if column.kind == "text" and column.distinct > max(50, rows / 20) or column.odd:
            continue
        if len(roles.others) < _MOST:
            roles.others[_own_name(column.name, roles)] = column.name
    return roles


def _role(roles: Roles, role: str, columns: Sequence[Column], rows: int) -> None:
    """Return the column of a role: the first with a matching name and valid values."""
    taken = set(roles.of.values())
    fits = [c for c in columns if c.name not in taken and _can_be(role, c, rows)]
    named = [c for c in fits if is_named(role, c.name)]
    if role == "item" and not any(
        is_named("word", c.name) and _looks_like_words(c) for c in columns
    ):
        named = [c for c in named if not (snake(c.name)[:4] == "stim" and _looks_like_words(c))]
    if role == "item" and len(named) > 1:  # trials are items only if nothing else is
        named = [c for c in named if not snake(c.name).startswith("trial")]
        named = sorted(named, key=lambda c: snake(c.name).startswith("stim"))  # what is on screen
    if role == "position":  # prefer specific names: word_in_sentence before zone
        named = sorted(named, key=lambda c: not re.search("word|token|zone|ia", snake(c.name)))
        roles.positions = [c.name for c in named]
    if not named and role == "subject":  # ID is of readers if it is no one's for each row
        named = [c for c in fits if snake(c.name) == "id"]
    if not named and role == "word":
        words = [c for c in fits if _looks_like_words(c)]
        named = sorted(words, key=lambda c: -c.distinct)
    if named:
        roles.of[role] = named[0].name


def _can_be(role: str, column: Column, rows: int) -> bool:
    """Return whether a column's values are valid for a role."""
    if role == "word":
        return column.kind == "text" and column.distinct > 2
    if role == "position":
        return can_be_position(column)
    if role == "space_after":
        return column.kind == "true or false"
    few = column.missing <= _LOST * rows  # which the parser names by their lines
    return column.kind in ("text", "whole number") and few and column.distinct < rows


def named_like(role: str, columns: Sequence[Column]) -> list[str]:
    """Return the columns that have a usual name of a role, whatever their values."""
    return [
        column.name
        for column in columns
        if is_named(role, column.name)
        and not (role == "item" and snake(column.name).startswith("trial"))
        and (column.distinct > 1 or column.missing)
        and (column.numeric or role != "position")
    ]


def can_be_position(column: Column) -> bool:
    """Return whether a column has whole numbers from 0 or 1."""
    return column.kind == "whole number" and 0 <= column.low <= 1


def free_whole_numbers(columns: Sequence[Column], guessed: Roles) -> list[str]:
    """Return columns of whole numbers without a role that may count, from any number."""
    used = {*guessed.of.values(), *guessed.measures.values()}
    free = [c for c in columns if c.name not in used and c.distinct > 1]
    return [c.name for c in free if c.kind == "whole number" and c.low >= 0]


def positions_by_value(columns: Sequence[Column], guessed: Roles) -> list[str]:
    """Return columns without a role whose values may be positions: whole numbers from 0 or 1."""
    used = {*guessed.of.values(), *guessed.measures.values()}
    free = [c for c in columns if c.name not in used and c.distinct > 1]
    return [c.name for c in free if can_be_position(c)]


def _looks_like_words(column: Column) -> bool:
    return column.lettered > _LETTERED and column.distinct > 10


def _times(roles: Roles, columns: Sequence[Column]) -> None:
    """Return the columns of reading times, by name and magnitude."""
    for measure in MEASURES:
        free = [
            column
            for column in columns
            if column.name not in {*roles.of.values(), *roles.measures.values()} and is_time(column)
        ]
        rank = {column.name: _names_measure(column.name, measure) for column in free}
        named = sorted((column for column in free if rank[column.name]), key=lambda c: rank[c.name])
        if named:
            roles.measures[measure] = named[0].name
            roles.seconds |= _are_seconds(named[0])
    if set(roles.measures) & set(EYES):  # what else is called a time is a clock's or of trials
        roles.measures.pop("SPR", None)


def _names_measure(name: str, measure: str) -> int:
    """Return the number (from 1) of the usual name of a measure that a column has, 0 for none."""
    spaced = snake(name).replace("_", " ")
    for number, pattern in enumerate(MEASURES[measure].columns, start=1):
        if re.search(pattern, spaced):
            return number
    return 0


def measure_of_name(name: str) -> str | None:
    """Return the measure that has a column's name among its usual names, None without one.

    Parameters
    ----------
    name : str
        The column's name, such as `rt_critical`.
    """
    return next((measure for measure in MEASURES if _names_measure(name, measure)), None)


def _are_seconds(column: Column) -> bool:
    """Return whether times are in seconds, of which the longest may be a pause of minutes."""
    if column.kind == "number" and _SECONDS[0] <= column.typical <= _LONGEST_MEDIAN:
        return True
    return column.middle < _MILLISECONDS[0] and column.high <= _SECONDS[1]


def is_time(column: Column) -> bool:
    """Return whether numbers can be reading times, in ms or s, with 0 for unfixated words."""
    name = snake(column.name)
    if not column.numeric or column.below > _BELOW or _NO_TIME.search(name) or _LM.search(name):
        return False
    if is_named("position", column.name):  # of which one is no whole number
        return False
    if can_be_position(column) and column.distinct == column.high - column.low + 1:  # a counter
        return False
    is_named_time = (
        measure_of_name(column.name) is not None
    )  # whose longest may be a pause of hours
    if column.middle > _MILLISECONDS[1] or (column.high > _LONGEST and not is_named_time):
        return False  # such as timestamps
    ms = _MILLISECONDS[0] < column.high and column.distinct > 2 and column.high > 100
    return ms or (
        column.kind == "number" and _SECONDS[0] <= column.typical <= column.high <= _SECONDS[1]
    )


def _wide(roles: Roles, columns: Sequence[Column]) -> None:
    """Find one column per subject: three or more columns of times whose names differ only in a number."""
    groups: dict[tuple[str, str], list[Column]] = {}
    for column in columns:
        match = re.fullmatch(r"(\D*)(\d+)(\D*)", column.name)
        if match and is_time(column):
            groups.setdefault((match[1], match[3]), []).append(column)
    for (head, tail), group in groups.items():
        pattern = f"{head}*{tail}"
        names = {column.name for column in group}
        if len(group) < 3 or set(matching(pattern, [c.name for c in columns])) != names:
            continue
        if "subject" in roles.of:
            continue
        measure = next((m for m in MEASURES if _names_measure(f"{head}{tail}", m)), "SPR")
        roles.measures.setdefault(measure, pattern)
        roles.wide = True
        roles.seconds |= group[0].middle < _MILLISECONDS[0]


def _own_name(name: str, roles: Roles) -> str:
    """Return a name for a kept column that has no other meaning here."""
    plain = snake(name) or "column"
    plain = f"column_{plain}" if plain[0].isdigit() else plain
    reserved = {*WORDS, *RESPONSES, *VALUES, *TAKEN, *_PREDICTORS, *(m.lower() for m in MEASURES)}
    plain = f"own_{plain}" if plain in reserved and plain != "pos" else plain
    number, free = 2, plain
    while free in roles.others:
        free, number = f"{plain}_{number}", number + 1
    return free


_MAZE = 300
"""Milliseconds that nine of ten times in a maze exceed; few in self-paced reading do."""
_CHAIN = ("FFD", "FP", "GP")
_NESTED = 0.995
"""Share of rows in which a nested duration is not the longer one."""
_OTHER_TEXTS = 0.5
"""Share of the numbers of trials under which readers had other words."""


def refine(roles: Roles, columns: Sequence[Column], frame: pd.DataFrame) -> list[str]:
    """Correct guessed measures by their values; return notes on the decisions.

    First fixation ≤ first pass ≤ go-past: columns of times without a known name are ordered so.
    Times of which nine of ten exceed 300 ms are of a maze.

    Parameters
    ----------
    roles : Roles
        Guesses by name; `measures` is changed in place.
    columns : sequence of Column
        The table's columns.
    frame : DataFrame
        The table, all values as text.
    """
    of_trials = _constant_in_trials(roles, columns, frame)
    notes = (
        []
        if roles.wide
        else [
            *_order_of_trials(roles, frame),
            *_of_trials(roles, columns, of_trials),
            *_by_order(roles, [c for c in columns if c.name not in of_trials], frame),
        ]
    )
    by_name = {column.name: column for column in columns}
    scale = 1000 if roles.seconds else 1
    spr = by_name.get(roles.measures.get("SPR", ""))
    if spr is not None and len(roles.measures) == 1 and spr.tenth * scale > _MAZE:
        notes.append(
            f"{spr.name}: nine of ten times exceed {_MAZE} ms, as in a maze; self-paced reading is "
            "faster. Write SPR for Maze if it is that"
        )
        roles.measures = {"Maze": spr.name}
    return notes + _contradictions(roles, frame)


def _order_of_trials(roles: Roles, frame: pd.DataFrame) -> list[str]:
    """Give up a number of trials as that of texts if readers had other words there: it is their order."""
    of = roles.of
    if not {"item", "subject", "word"} <= of.keys() or not snake(of["item"]).startswith("trial"):
        return []
    texts = frame.groupby([of["item"], of["subject"]], sort=False)[of["word"]].agg(" ".join)
    if (texts.groupby(level=0).nunique() > 1).mean() <= _OTHER_TEXTS:
        return []
    return [f"{of.pop('item')} counts each reader's trials, which are no texts"]


def _constant_in_trials(roles: Roles, columns: Sequence[Column], frame: pd.DataFrame) -> set[str]:
    """Return the columns of times that are the same for all words of a reader's text or sentence."""
    keys = [roles.of[name] for name in ("subject", "item", "sentence") if name in roles.of]
    if "word" not in roles.of or "subject" not in roles.of or len(keys) < 2:
        return set()
    groups = frame.groupby(keys, sort=False)
    long = (groups[keys[0]].transform("size") > 2).to_numpy()
    times = [c.name for c in columns if is_time(c) and c.name not in keys]
    return {
        name
        for name in times
        if long.any() and not (groups[name].transform("nunique") > 1)[long].any()
    }


def _of_trials(roles: Roles, columns: Sequence[Column], constant: set[str]) -> list[str]:
    """Replace a measure that is one of a trial, such as the time of its question."""
    notes = []
    for measure, name in [*roles.measures.items()]:
        if name not in constant:
            continue
        del roles.measures[measure]
        used = {*roles.of.values(), *roles.measures.values(), *constant}
        free = [c for c in columns if c.name not in used and is_time(c)]
        named = [c for c in free if _names_measure(c.name, measure)]
        notes.append(f"{name} is one value for all words of a trial: no time of a word")
        if named:
            chosen = min(named, key=lambda c: _names_measure(c.name, measure))
            roles.measures[measure] = chosen.name
            roles.seconds = _are_seconds(chosen)
    return notes


def _by_order(roles: Roles, columns: Sequence[Column], frame: pd.DataFrame) -> list[str]:
    """Name unnamed columns of times by their order: which is never longer than which."""
    used = {*roles.of.values(), *roles.measures.values()}
    free = [c for c in columns if c.name not in used and is_time(c) and c.kind != "text"]
    weak = [c for c in columns if c.name == roles.measures.get("SPR")]
    if set(roles.measures) - {"SPR"} or not 2 <= len(free) + len(weak) <= len(_CHAIN):
        return []
    together = sorted([*weak, *free], key=lambda column: column.middle)
    values = [_numbers(frame[column.name]) for column in together]
    if not all(_is_nested(a, b) for a, b in itertools.pairwise(values)):
        return []
    names = _CHAIN if len(together) == len(_CHAIN) else _CHAIN[1:]
    roles.measures = dict(zip(names, (column.name for column in together), strict=True))
    ordered = " ≤ ".join(column.name for column in together)
    return [f"{ordered} in {_NESTED:.1%} of rows or more: taken as {' ≤ '.join(names)}; check it"]


def _contradictions(roles: Roles, frame: pd.DataFrame) -> list[str]:
    """Return a note for each pair of named measures whose order the values contradict."""
    notes = []
    for short, long in [(name, long) for name, of in MEASURES.items() for long in of.at_most]:
        if short in roles.measures and long in roles.measures and not roles.wide:
            one, other = (_numbers(frame[roles.measures[measure]]) for measure in (short, long))
            both = (one > 0) & (other > 0)
            if both.any() and (share := float((one > other)[both].mean())) > 1 - _NESTED:
                notes.append(
                    f"{roles.measures[short]} ({short}) is longer than {roles.measures[long]} ({long}) "
                    f"in {share:.1%} of rows, which cannot be: check the two columns"
                )
    return notes


def _is_nested(short: np.ndarray, long: np.ndarray) -> bool:
    both = (short > 0) & (long > 0)
    differ = short[both] != long[both]
    return bool(both.sum() > 20 and (short <= long)[both].mean() >= _NESTED and differ.any())


def _numbers(text: pd.Series) -> np.ndarray:
    return pd.to_numeric(text, errors="coerce").fillna(0).to_numpy(dtype=float)


_NAMED = re.compile(
    r"surp|log_?p(rob)?s?\b|logprob|(^|_)lp($|_)|(^|_)nll($|_)|(^|_)prob(ability)?s?($|_)|bits|nats"
)
_OTHER = re.compile(
    r"(^|_)(log|ln)?\d*_?rts?($|_)|read(ing)?_?time|freq|count|length|rank|entropy|zipf|unigram|age|acc|score_?id|tok_?count|rating|(^|_)(max|min|sd|se|std)($|_)|"
    + _NEIGHBOUR
)
_UNITS = (
    ("bits", r"bit|log_?2|base_?2"),
    ("nats", r"nat(s|$|_)|(^|_)ln($|_)"),
    ("log10", r"log_?10|base_?10"),
)
_SIZES = (1.0, float(np.log(2)), float(np.log10(2)))  # of a bit, in each unit
_FACTORS = sorted({a / b for a in _SIZES for b in _SIZES})
_TOKENS = re.compile(r"^(?:Ġ|▁|##|<0x[0-9A-F]{2}>)")
_MEANS = re.compile(r"(^|_)(mean|avg|average|per_?token)($|_)")
_WORD_ID = re.compile(r"word_?id|wordid|word_index_in_corpus")


@dataclass
class Scores:
    """A table of surprisals: LM → column, quantity, unit, and join keys."""

    columns: dict[str, str]
    value: str
    unit: str
    is_stated: bool
    mean: float
    keys: dict[str, str] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)


def find(columns: Sequence[Column], roles: Roles, table: pd.DataFrame) -> Scores | None:
    """Return the surprisals of a table by names and values, None if there are none.

    A value below 0 is a log-probability, one of 0 to 1 a probability. A unit that no name states is
    estimated from the mean (natural text has more than 6.5 bits or 4.5 nats a word), and
    `is_stated` is False.
    """
    used = {*roles.of.values()}
    free = [c for c in columns if c.numeric and c.name not in used]
    free = [c for c in free if not _OTHER.search(snake(c.name))]
    named = [c for c in free if _NAMED.search(snake(c.name)) and c.distinct > 2]
    free = [c for c in free if c.kind == "number"]
    named = named or [c for c in free if _LM.search(snake(c.name)) and _may_be_surprisal(c)]
    of_words = "word" in roles.of and "subject" not in roles.of  # no reader changes a surprisal
    chosen = named or [c for c in free if of_words and _may_be_surprisal(c)]
    if not chosen:
        return None
    kinds = {_kind(c) for c in chosen}
    kind = _kind(chosen[0])
    chosen = [c for c in chosen if _kind(c) == kind] if len(kinds) > 1 else chosen
    chosen, left_out = _of_sums(chosen, table)
    values = pd.to_numeric(table[chosen[0].name], errors="coerce")
    mean = float(values.abs().mean())
    unit, is_stated = _unit(chosen, mean)
    scores = Scores({_lm(c.name, chosen): c.name for c in chosen}, kind, unit, is_stated, mean)
    scores.keys = _keys(columns, roles, table)
    scores.left_out = left_out
    return scores


def _of_sums(columns: list[Column], table: pd.DataFrame) -> tuple[list[Column], list[str]]:
    """Return one column of an LM's surprisals, in bits if one is, of those in other units or means of tokens.

    The second result has a line for each column left out.
    """
    kept = [c for c in columns if not _MEANS.search(snake(c.name))] or columns
    left_out = [f"{c.name}: means over tokens" for c in columns if c not in kept]
    values = {c.name: pd.to_numeric(table[c.name], errors="coerce").to_numpy() for c in kept}
    first: list[Column] = []
    for column in sorted(kept, key=lambda c: _unit([c], 0) != ("bits", True)):
        same = [
            f"{column.name}: {factor:.3g} times {other.name}"
            for other in first
            for factor in _FACTORS
            if np.allclose(values[column.name], factor * values[other.name], 1e-3, equal_nan=True)
        ]
        left_out += same[:1]
        first += [] if same else [column]
    return [c for c in kept if c in first], left_out


def _may_be_surprisal(column: Column) -> bool:
    """Return whether numbers in an unnamed column can be surprisals."""
    return (
        column.low >= 0 and 0.5 < column.middle < 25 and column.high < 100 and column.distinct > 20
    )


def _kind(column: Column) -> str:
    if column.high <= 0 and column.low < 0:
        return "logprob"
    return "probability" if 0 < column.low and column.high <= 1 else "surprisal"


def _unit(columns: Sequence[Column], mean: float) -> tuple[str, bool]:
    """Return the unit of log-probabilities, and whether a name states it."""
    for unit, pattern in _UNITS:
        if all(re.search(pattern, snake(column.name)) for column in columns):
            return unit, True
    return ("bits" if mean > 6.5 else "nats"), False


def _lm(name: str, columns: Sequence[Column]) -> str:
    """Return a name for the LM of a column: the column's, without the part that all share."""
    short = re.sub(
        r"_?(surprisals?|surp|logprobs?|log_prob|bits|nats)_?", "", name, flags=re.IGNORECASE
    )
    names = [
        re.sub(
            r"_?(surprisals?|surp|logprobs?|log_prob|bits|nats)_?", "", c.name, flags=re.IGNORECASE
        )
        for c in columns
    ]
    short = short if short and len(set(names)) == len(names) and all(names) else name
    return re.sub(r"[^A-Za-z0-9._-]+", "-", short).strip("-._") or "mine"


def _are_pieces(keys: dict[str, str], table: pd.DataFrame) -> bool:
    """Return whether positions have several rows of other text each: tokens without marks."""
    if "position" not in keys:
        return False
    place = [keys[key] for key in ("item", "sentence", "position") if key in keys]
    return bool((table.groupby(place, sort=False)[keys["word"]].nunique() > 1).mean() > 0.05)


def _keys(columns: Sequence[Column], roles: Roles, table: pd.DataFrame) -> dict[str, str]:
    """Return join key → column."""
    keys = {
        key: roles.of[key] for key in ("item", "sentence", "position", "word") if key in roles.of
    }
    if "word" in keys and (
        table[keys["word"]].str.contains(_TOKENS).mean() > 0.1 or _are_pieces(keys, table)
    ):
        keys["token"] = keys.pop("word")
    for column in columns:
        if _WORD_ID.fullmatch(snake(column.name)) and column.kind == "whole number":
            keys["word_id"] = column.name
            keys = {k: c for k, c in keys.items() if k != "position" or c != column.name}
    if "position" in keys and not keys.keys() & {"item", "sentence", "word_id"}:
        del keys["position"]
    return keys
