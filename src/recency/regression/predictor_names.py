"""Names of predictors in a design's formula: previous2_surprisal, next_length, surprisal[Pythia].

This module reads no data, so that formulas are checked before anything runs.
"""

import functools
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from crosslmm.expressions import Expression, read, split_product, written
from crosslmm.expressions import names as columns_of
from crosslmm.formula import Formula, factors
from readingtimes.names import near, nearest
from recency.errors import InputError
from recency.scoring import measures

PREDICTORS = (
    "length",
    "position",
    "unigram",
    "surprisal",
    "previous_length",
    "previous_unigram",
    "previous_surprisal",
    "previous_fixated",
)
EXTRA = ("foil_length", "given_length", "log_frequency")
"""Further numeric columns that a dataset's words may have: the length of a maze's other choice,
and length and log frequency as a corpus's authors measured them."""
CATEGORICAL = ("pos",)
"""Categorical columns that a dataset's words may have, such as parts of speech."""
GROUPS = ("subject", "sentence", "item")
WORDS = ("word", "word_id", "space_after")
"""Columns that every dataset's words have."""

ALWAYS = ("surprisal", "corrected", "tokens", "context_tokens")
"""Measures that every LM provides."""
OF_FOILS = "foil_surprisal"
"""Measure of LMs that score words, for datasets whose words have a `foil`."""
_UNIT = r"_(?:bits|nats)\d?"
_SHIFT = re.compile(r"(previous|next)([2-9]|[1-9]\d+)?_(?=.)")
_OF_LM = re.compile(r"([^\W\d_][\w.]*)\[([^][`]*)\]")


@dataclass(frozen=True)
class Name:
    """A parsed name: its stem, its shift in words (negative: preceding), and its LM."""

    stem: str
    shift: int = 0
    lm: str | None = None

    @property
    def of_lm(self) -> bool:
        """Whether a language model provides it."""
        return self.lm is not None or is_measure(self.stem)


def is_measure(stem: str) -> bool:
    """Return whether a stem is an LM's measure of a word (contract 3), with or without a unit."""
    return _measure_pattern(measures.regex()).fullmatch(stem) is not None


@functools.cache
def _measure_pattern(others: str) -> re.Pattern:
    """Return the pattern of such measures; `others` is that of the optional measures."""
    given = rf"surprisal(?:_context_\d+)?|corrected|{others}|foil_surprisal|tokens|context_tokens"
    return re.compile(rf"(?:{given})(?:{_UNIT})?")


def examples() -> list[str]:
    """Return examples of LM measures, for suggestions when a name is mistyped."""
    given = ("surprisal_context_1", "corrected", "foil_surprisal", "tokens", "context_tokens")
    return ["surprisal", *measures.examples(), *given]


@functools.cache
def split(name: str) -> Name:
    """Parse a name: `previous2_surprisal[Pythia]` has stem surprisal, shift -2, LM Pythia.

    Only the first prefix is removed from the stem, as in `previous_surprisal_context_2`.
    """
    match = _OF_LM.fullmatch(name)
    name, lm = match.groups() if match else (name, None)
    if prefix := _SHIFT.match(name):
        words = int(prefix[2] or 1)
        return Name(name[prefix.end() :], -words if prefix[1] == "previous" else words, lm)
    return Name(name, 0, lm)


def quoted(text: str) -> str:
    """Put names with an LM, such as `surprisal[Pythia]`, in backticks, as R needs them."""
    pieces = re.split(r"(`[^`]*`)", text)
    for number in range(0, len(pieces), 2):
        pieces[number] = _OF_LM.sub(lambda m: f"`{m[1]}[{m[2].strip()}]`", pieces[number])
    return "".join(pieces)


def variables(term: str) -> list[str]:
    """Return the columns of the data that a factor of a term needs."""
    return inputs(read(term))


def inputs(expression: Expression) -> list[str]:
    """Return the columns of the data that an expression needs."""
    return list(dict.fromkeys(columns_of(expression)))


def shifted(name: str, words: int) -> str:
    """Return the name of a column shifted by `words` (negative: back): `previous2_surprisal`."""
    if not words:
        return name
    parts = split(name)
    shift = parts.shift + words
    number = str(abs(shift)) if abs(shift) > 1 else ""
    prefix = f"{'next' if shift > 0 else 'previous'}{number}_" if shift else ""
    return prefix + parts.stem + (f"[{parts.lm}]" if parts.lm is not None else "")


def before(expression: Expression, lag: int) -> Expression:
    """Return an expression for the word `lag` words earlier."""
    if expression.kind == "name":
        return Expression("name", shifted(expression.value, -lag))
    return replace(expression, parts=tuple(before(part, lag) for part in expression.parts))


@functools.cache
def used(formula: Formula) -> tuple[str, ...]:
    """Return the columns of the data that a formula's predictors need."""
    return tuple(dict.fromkeys(n for term in formula.predictors for n in variables(term)))


def grouping(formula: Formula) -> list[str]:
    """Return the columns of the data that are a formula's grouping factors."""
    return [name.strip("`") for name in formula.groups]


def lms(formula: Formula) -> list[str]:
    """Return the LMs that a formula names, in order of appearance."""
    named = (split(name).lm for name in (*used(formula), *grouping(formula)))
    return list(dict.fromkeys(lm for lm in named if lm is not None))


def is_of_fitted_lm(name: str) -> bool:
    """Return whether a name is a measure without an LM, that is of the regression's own LM."""
    parts = split(name)
    return parts.of_lm and parts.lm is None


def dataset_columns(formula: Formula) -> list[str]:
    """Return a formula's columns that come with the dataset, not from the workflow or an LM."""
    standard = {*PREDICTORS, *EXTRA, *CATEGORICAL, *GROUPS}
    names = [*used(formula), *grouping(formula)]
    stems = {name: split(name) for name in names}
    unlisted = [n for n, parts in stems.items() if not parts.of_lm and n not in standard]
    return [n for n in unlisted if stems[n].stem not in {*PREDICTORS, *WORDS, *GROUPS}]


def lm_columns(formula: Formula, columns: Mapping[str, Collection[str]]) -> list[str]:
    """Return the columns that come from the regression's own LM.

    A name among the dataset's own `columns` is the dataset's.
    """
    of_dataset = {*columns.get("words", ()), *columns.get("responses", ())}
    return [name for name in used(formula) if is_of_fitted_lm(name) and name not in of_dataset]


def add_lm(formula: Formula, of_lm: Collection[str], lm: str) -> Formula:
    """Add for each term of the columns `of_lm` the same term of another LM: `surprisal[lm]`.

    Fixed and random terms are both added, so that each LM's own regression is nested in this one.
    """

    def changed(part: Expression) -> Expression:
        if part.kind == "name" and part.value in of_lm:
            return Expression("name", f"{part.value}[{lm}]")
        return replace(part, parts=tuple(map(changed, part.parts)))

    def both(columns: tuple[str, ...]) -> tuple[str, ...]:
        new = [":".join(written(changed(read(f))) for f in factors(c)) for c in columns]
        more = (n for n, c in zip(new, columns, strict=True) if n not in (c, ""))
        return tuple(sorted((*columns, *more), key=lambda c: len(factors(c))))  # as R orders them

    random = tuple(replace(term, columns=both(term.columns)) for term in formula.random)
    return replace(formula, fixed=both(formula.fixed), random=random)


def measure_of(stem: str) -> str:
    """Return the name of an LM's column without its unit."""
    return re.sub(rf"{_UNIT}(?=_|$)", "", stem)


def check(formula: Formula, columns: Mapping[str, Collection[str]]) -> None:
    """Raise an InputError at the first name in `formula` that does not exist.

    `columns` are those of the `words` and of the `responses`, as far as they are known.
    """
    for problem in [*misplaced(formula), *unknown(formula, columns)]:
        raise InputError(f"formula '{formula}': {problem}")


def misplaced(formula: Formula) -> list[str]:
    """List problems: the response among predictors, and grouping factors as effects or slopes."""
    problems = []
    if formula.response in {split(name).stem for name in used(formula)}:
        problems.append(f"the response, {formula.response}, is among its predictors; take it out")
    if "subject" in {name for column in formula.fixed for name in factors(column)}:
        problems.append(
            "'subject' is a grouping factor; write (1 | subject), or factor(subject) for a fixed "
            "effect of each subject"
        )
    for term in getattr(formula, "random", ()):
        slopes = {name for column in term.columns for name in factors(column)}
        grouping = slopes & {*GROUPS, *split_groups([term.group])}
        problems += [
            f"{name!r} is a grouping factor and cannot be a slope by {term.group}; write (1 | {name})"
            for name in sorted(grouping)
        ]
    return problems


def unknown(formula: Formula, columns: Mapping[str, Collection[str]]) -> list[str]:
    """Describe each name in `formula` that does not exist, with the nearest known name.

    `columns` may have `perhaps` too: names that are accepted but never suggested.
    """
    of_words = {*WORDS, *CATEGORICAL, *EXTRA, *columns.get("words", ())}
    of_dataset = {*of_words, *GROUPS, *columns.get("responses", ())}
    perhaps = set(columns.get("perhaps", ()))
    problems = []
    for kind, names, allowed in (
        ("predictor", used(formula), {*PREDICTORS, *of_dataset}),
        ("grouping variable", grouping(formula), of_dataset),
    ):
        shiftable = {*PREDICTORS[:4], *of_words}
        wrong: dict[tuple[str, str | None], str] = {}
        for name in names:
            parts = split(name)
            if problem := _unknown(name, allowed, shiftable, perhaps):
                wrong.setdefault((parts.stem, parts.lm), problem)  # once for all lags
        problems += [f"no {kind} is called {problem}" for problem in wrong.values()]
    return list(dict.fromkeys(problems))


def _unknown(
    name: str, columns: Collection[str], of_words: Collection[str], perhaps: Collection[str]
) -> str:
    """Describe the problem with a name; return "" if it is known."""
    parts = split(name)
    if parts.lm is not None:
        if is_measure(parts.stem):
            return ""
        return f"{name!r}: an LM gives no {nearest(parts.stem, examples())}"
    stem_is_known = parts.stem in of_words or parts.stem in perhaps
    if name in columns or name in perhaps or parts.of_lm or (parts.shift and stem_is_known):
        return ""
    if parts.shift and parts.stem in columns:
        return (
            f"{name!r}: {parts.stem} is no column of the words, which alone have words around them"
        )
    prefix = name.removesuffix(parts.stem)
    if parts.shift and (close := near(parts.stem, (*of_words, *examples()), 0.7)):
        return f"{name!r}; did you mean '{prefix}{close}'?"
    close = near(name, sorted({*columns, *examples()}), 0.6)
    if close is not None:
        return f"{name!r}; did you mean {close!r}?"
    return f"{name!r}; there are columns of the dataset, and those of docs/regression.md"


def split_groups(groups: Collection[str]) -> list[str]:
    """Return the columns that grouping factors such as `a:b` consist of."""
    return list(dict.fromkeys(name.strip("`") for g in groups for name in split_product(g)))
