"""Names of predictors in a design's formula: previous2_surprisal, next_length, surprisal[Pythia].

Nothing here reads data, so that formulas can be checked before anything runs.
"""

import functools
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from recency.errors import InputError
from recency.mixed.expressions import Expression, read, split_product, written
from recency.mixed.expressions import names as columns_of
from recency.mixed.formula import Formula, factors
from recency.names import near, nearest
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
"""Numbers that a dataset's words may have beside those, as columns of their own: the length of a
maze's other choice, and the length and log frequency that a corpus's authors took."""
CATEGORICAL = ("pos",)
"""Names that a dataset's words may have, such as parts of speech, one column each."""
GROUPS = ("subject", "sentence", "item")
WORDS = ("word", "word_id", "space_after")
"""What every dataset's words have beside those."""

ALWAYS = ("surprisal", "corrected", "tokens", "context_tokens")
"""Those that every LM gives."""
OF_FOILS = "foil_surprisal"
"""What LMs that score words give of a dataset whose words have a `foil`."""
_UNIT = r"_(?:bits|nats)\d?"
_SHIFT = re.compile(r"(previous|next)([2-9]|[1-9]\d+)?_(?=.)")
_OF_LM = re.compile(r"([^\W\d_][\w.]*)\[([^][`]*)\]")


@dataclass(frozen=True)
class Name:
    """A name taken apart: what it is a value of, how many words on (before: < 0), whose LM's."""

    stem: str
    shift: int = 0
    lm: str | None = None

    @property
    def of_lm(self) -> bool:
        """Whether a language model gives it."""
        return self.lm is not None or is_measure(self.stem)


def is_measure(stem: str) -> bool:
    """Return whether a language model gives a column of a word (contract 3), with unit or without."""
    return _measure_pattern(measures.regex()).fullmatch(stem) is not None


@functools.cache
def _measure_pattern(others: str) -> re.Pattern:
    """Return the pattern of such columns, `others` being that of the measures that can be asked for."""
    given = rf"surprisal(?:_context_\d+)?|corrected|{others}|foil_surprisal|tokens|context_tokens"
    return re.compile(rf"(?:{given})(?:{_UNIT})?")


def examples() -> list[str]:
    """Return examples of these columns, which a mistyped name is compared with."""
    given = ("surprisal_context_1", "corrected", "foil_surprisal", "tokens", "context_tokens")
    return ["surprisal", *measures.examples(), *given]


@functools.cache
def split(name: str) -> Name:
    """Take a name apart: `previous2_surprisal[Pythia]` is surprisal, -2, Pythia.

    Of `previous_surprisal_context_2` the stem is what stands after the first prefix.
    """
    match = _OF_LM.fullmatch(name)
    name, lm = match.groups() if match else (name, None)
    if found := _SHIFT.match(name):
        words = int(found[2] or 1)
        return Name(name[found.end() :], -words if found[1] == "previous" else words, lm)
    return Name(name, 0, lm)


def quoted(text: str) -> str:
    """Put names with an LM, `surprisal[Pythia]`, in backticks, as R needs them."""
    pieces = re.split(r"(`[^`]*`)", text)
    for place in range(0, len(pieces), 2):
        pieces[place] = _OF_LM.sub(lambda m: f"`{m[1]}[{m[2].strip()}]`", pieces[place])
    return "".join(pieces)


def variables(term: str) -> list[str]:
    """Return the columns of the data that a factor of a term is made of."""
    return inputs(read(term))


def inputs(expression: Expression) -> list[str]:
    """Return the columns of the data that an expression needs; of lags() those of words before."""
    found = columns_of(expression)
    if expression.kind == "call" and expression.value == "lags":
        words = [int(p.value) for p in expression.parts[1:] if p.kind == "number"]
        found = [shifted(name, -lag) for lag in range(sum(words) + 1) for name in found]
    return list(dict.fromkeys(found))


def shifted(name: str, words: int) -> str:
    """Return the name of a column some words on (before: < 0): `previous2_surprisal`."""
    if not words:
        return name
    parts = split(name)
    shift = parts.shift + words
    number = str(abs(shift)) if abs(shift) > 1 else ""
    prefix = f"{'next' if shift > 0 else 'previous'}{number}_" if shift else ""
    return prefix + parts.stem + (f"[{parts.lm}]" if parts.lm is not None else "")


def before(expression: Expression, lag: int) -> Expression:
    """Return an expression of the word `lag` words before."""
    if expression.kind == "name":
        return Expression("name", shifted(expression.value, -lag))
    return replace(expression, parts=tuple(before(part, lag) for part in expression.parts))


@functools.cache
def used(formula: Formula) -> tuple[str, ...]:
    """Return the columns of the data that a formula's predictors are made of."""
    return tuple(dict.fromkeys(n for term in formula.predictors for n in variables(term)))


def grouping(formula: Formula) -> list[str]:
    """Return the columns of the data that a formula's grouping factors are."""
    return [name.strip("`") for name in formula.groups]


def lms(formula: Formula) -> list[str]:
    """Return the LMs that a formula names, in order of appearance."""
    named = (split(name).lm for name in (*used(formula), *grouping(formula)))
    return list(dict.fromkeys(lm for lm in named if lm is not None))


def of_own_lm(name: str) -> bool:
    """Say whether a name is of the LM that a regression is fitted for, and names none."""
    parts = split(name)
    return parts.of_lm and parts.lm is None


def own(formula: Formula) -> list[str]:
    """Return a formula's columns that neither the workflow nor an LM makes: the dataset's own."""
    known = {*PREDICTORS, *EXTRA, *CATEGORICAL, *GROUPS}
    names = [*used(formula), *grouping(formula)]
    stems = {name: split(name) for name in names}
    found = [n for n, parts in stems.items() if not parts.of_lm and n not in known]
    return [n for n in found if stems[n].stem not in {*PREDICTORS, *WORDS, *GROUPS}]


def of_its_lm(formula: Formula, columns: Mapping[str, Collection[str]]) -> list[str]:
    """Return the columns that the LM gives that a regression is fitted for.

    What the dataset's own `columns` have of that name is the dataset's.
    """
    own = {*columns.get("words", ()), *columns.get("responses", ())}
    return [name for name in used(formula) if of_own_lm(name) and name not in own]


def with_lm(formula: Formula, of_lm: Collection[str], lm: str) -> Formula:
    """Put beside each term of the columns `of_lm` the same one of another LM: `surprisal[lm]`.

    Fixed and random terms alike, so that both LMs' own regressions are nested in this one.
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
    """Return what a column of an LM is called without its unit."""
    return re.sub(rf"{_UNIT}(?=_|$)", "", stem)


def check(formula: Formula, columns: Mapping[str, Collection[str]]) -> None:
    """Raise an InputError at the first name in `formula` that nothing has.

    `columns` are those of the `words` and of the `responses`, as far as they are known.
    """
    for problem in [*misplaced(formula), *unknown(formula, columns)]:
        raise InputError(f"formula '{formula}': {problem}")


def misplaced(formula: Formula) -> list[str]:
    """List a response among its predictors, and grouping factors that are fixed effects or slopes."""
    found = []
    if formula.response in {split(name).stem for name in used(formula)}:
        found.append(f"the response, {formula.response}, is among its predictors; take it out")
    if "subject" in {name for column in formula.fixed for name in factors(column)}:
        found.append(
            "'subject' is a grouping factor; write (1 | subject), or factor(subject) for a fixed "
            "effect of each subject"
        )
    for term in getattr(formula, "random", ()):
        slopes = {name for column in term.columns for name in factors(column)}
        grouping = slopes & {*GROUPS, *split_groups([term.group])}
        found += [
            f"{name!r} is a grouping factor and cannot be a slope by {term.group}; write (1 | {name})"
            for name in sorted(grouping)
        ]
    return found


def unknown(formula: Formula, columns: Mapping[str, Collection[str]]) -> list[str]:
    """Say of each name in `formula` that nothing has what it is, and which known one is nearest.

    `columns` may have `perhaps`, too: names that are taken, but suggested for no other.
    """
    of_words = {*WORDS, *CATEGORICAL, *EXTRA, *columns.get("words", ())}
    own = {*of_words, *GROUPS, *columns.get("responses", ())}
    perhaps = set(columns.get("perhaps", ()))
    found = []
    for kind, names, known in (
        ("predictor", used(formula), {*PREDICTORS, *own}),
        ("grouping variable", grouping(formula), own),
    ):
        shiftable = {*PREDICTORS[:4], *of_words}
        wrong: dict[tuple[str, str | None], str] = {}
        for name in names:
            parts = split(name)
            if problem := _unknown(name, known, shiftable, perhaps):
                wrong.setdefault((parts.stem, parts.lm), problem)  # once, of lags() too
        found += [f"no {kind} is called {problem}" for problem in wrong.values()]
    return list(dict.fromkeys(found))


def _unknown(
    name: str, known: Collection[str], of_words: Collection[str], perhaps: Collection[str]
) -> str:
    """Say what is wrong with a name; nothing where it is known."""
    parts = split(name)
    if parts.lm is not None:
        if is_measure(parts.stem):
            return ""
        return f"{name!r}: an LM gives no {nearest(parts.stem, examples())}"
    stem_is_known = parts.stem in of_words or parts.stem in perhaps
    if name in known or name in perhaps or parts.of_lm or (parts.shift and stem_is_known):
        return ""
    if parts.shift and parts.stem in known:
        return (
            f"{name!r}: {parts.stem} is no column of the words, which alone have words around them"
        )
    prefix = name.removesuffix(parts.stem)
    if parts.shift and (close := near(parts.stem, (*of_words, *examples()), 0.7)):
        return f"{name!r}; did you mean '{prefix}{close}'?"
    close = near(name, sorted({*known, *examples()}), 0.6)
    if close is not None:
        return f"{name!r}; did you mean {close!r}?"
    return f"{name!r}; there are columns of the dataset, and those of docs/regression.md"


def split_groups(groups: Collection[str]) -> list[str]:
    """Return the columns that grouping factors such as `a:b` are made of."""
    return list(dict.fromkeys(name.strip("`") for g in groups for name in split_product(g)))
