"""Formulas of additive models in mgcv's notation: parametric columns and smooths of predictors.

`y ~ w + s(x, bs="cr", k=6) + te(w, z) + s(subject, bs="re")`. Random effects are smooths with
`bs="re"`: of a grouping variable (an intercept per level), or of a grouping variable and a
predictor (a slope per level).
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from recency.errors import InputError
from recency.mixed import formula as formulas
from recency.mixed.expressions import Token, tokens
from recency.mixed.formula import INTERCEPT, Formula, factors
from recency.names import nearest

SMOOTHS = ("s", "te", "ti", "t2")
OPTIONS = ("bs", "k", "m", "fx")
RANDOM = "re"
BASES = ("cr", "cs", "tp", "ts", "ps", "ds", RANDOM)


@dataclass(frozen=True)
class Smooth:
    """A smooth of some variables; `options` are mgcv's arguments as written."""

    function: str
    names: tuple[str, ...]
    options: tuple[str, ...] = ()
    random: bool = False

    def __str__(self) -> str:
        return f"{self.function}({', '.join((*self.names, *self.options))})"


@dataclass(frozen=True)
class Additive:
    """An additive model: the response, parametric columns including the intercept, and smooths."""

    response: str
    fixed: tuple[str, ...]
    smooths: tuple[Smooth, ...]
    group_names: tuple[str, ...] = ()

    def __str__(self) -> str:
        terms = ["1" if name == INTERCEPT else name for name in self.fixed]
        terms = terms if INTERCEPT in self.fixed else ["0", *terms]
        return f"{self.response} ~ " + " + ".join([*terms, *map(str, self.smooths)])

    @property
    def groups(self) -> list[str]:
        """The grouping variables of the random smooths, in order of appearance."""
        names = [n for s in self.smooths if s.random for n in s.names if n in self.group_names]
        return list(dict.fromkeys(names))

    @property
    def predictors(self) -> list[str]:
        """The names of all predictors, in order of appearance."""
        names = [name for column in self.fixed for name in factors(column)]
        names += [name for smooth in self.smooths for name in smooth.names]
        return [name for name in dict.fromkeys(names) if name not in self.groups]


def parse(text: str, groups: Iterable[str]) -> Additive:
    """Read a formula; `groups` are the names that may be grouping variables.

    Raises InputError for a smooth that cannot be read or is not supported.
    """
    groups = tuple(groups)
    left, tilde, _ = text.partition("~")
    if not tilde:
        raise InputError(f"formula {text!r}: '~' is missing")
    smooths, plain = [], []
    for term in _terms(text, tokens(text[len(left) + 1 :])):
        if len(term) > 1 and term[0].text in SMOOTHS and term[1].text == "(":
            smooths.append(_smooth(text, term, groups))
        else:
            plain.append(" ".join(token.text for token in term))
    parametric = formulas.parse(f"{left} ~ {' + '.join(plain) or '1'}")
    if parametric.random:
        group = parametric.random[0].group
        raise InputError(
            f"formula {text!r}: {parametric.random[0]} is lme4's notation; an additive model "
            f'(`engine: gam`) has s({group}, bs="re") for an intercept and s({group}, x, bs="re") '
            "for a slope of x"
        )
    return Additive(parametric.response, parametric.fixed, tuple(smooths), groups)


def without(formula: Additive, names: Iterable[str], slopes: bool) -> Additive:
    """Drop columns and smooths that contain `names` and, with `slopes`, their random slopes too.

    Raises an InputError if one of `names` occurs nowhere.
    """
    names = set(names)
    _check_named(formula, names)
    return replace(
        formula,
        fixed=tuple(c for c in formula.fixed if not names & set(factors(c))),
        smooths=tuple(
            s for s in formula.smooths if not names & set(s.names) or (s.random and not slopes)
        ),
    )


def linear(formula: Additive, names: Iterable[str]) -> Additive:
    """Replace the smooths of `names` by straight lines."""
    names = set(names)
    _check_named(formula, names)
    straight = []
    for smooth in formula.smooths:
        if names & set(smooth.names) and not smooth.random:
            if len(smooth.names) > 1:
                raise InputError(
                    f"formula '{formula}': {smooth} has several predictors and cannot become one line; "
                    "write a separate smooth, such as s(x), for each effect of interest"
                )
            straight.append(smooth)
    return replace(
        formula,
        fixed=(*formula.fixed, *(smooth.names[0] for smooth in straight)),
        smooths=tuple(s for s in formula.smooths if s not in straight),
    )


def with_smooths(formula: Formula, names: Iterable[str], groups: Iterable[str]) -> Additive:
    """Return the additive model with a smooth of each of `names` in place of its linear effect.

    Random terms become random smooths: uncorrelated intercepts and slopes by level.

    Raises
    ------
    InputError
        If one of `names` is in an interaction or is not a term, or a grouping factor is nested.
    """
    names, smooths = set(names), []
    columns = dict.fromkeys([*formula.fixed, *(c for term in formula.random for c in term.columns)])
    for column in columns:
        if names & set(parts := factors(column)) and len(parts) > 1:
            raise InputError(
                f"formula '{formula}': {column} is an interaction, and linking 'smooth' needs "
                f"{min(names & set(parts))} as a term of its own"
            )
    for name in sorted(names - set(formula.fixed)):
        raise InputError(f"formula '{formula}' has no term {name!r} that could be a smooth")
    for name in (column for column in formula.fixed if column in names):
        smooths.append(Smooth("s", (name,), ('bs="cr"',)))
    for term in formula.random:
        if ":" in term.group:
            raise InputError(
                f"formula '{formula}': {term} has a nested grouping factor, which linking 'smooth' "
                "does not cover"
            )
        for column in term.columns:
            of = (term.group,) if column == INTERCEPT else (term.group, *factors(column))
            smooths.append(Smooth("s", of, (f'bs="{RANDOM}"',), random=True))
    fixed = tuple(column for column in formula.fixed if column not in names)
    return Additive(formula.response, fixed, tuple(smooths), tuple(groups))


def _check_named(formula: Additive, names: Iterable[str]) -> None:
    there = {name for column in formula.fixed for name in factors(column)}
    there |= {name for smooth in formula.smooths if not smooth.random for name in smooth.names}
    for name in sorted(names):
        if name not in there:
            raise InputError(
                f"of_interest names {name!r}, which no term of '{formula}' has; "
                "add it to the formula or take it out of of_interest"
            )


def _terms(text: str, right: list[Token]) -> list[list[Token]]:
    """Split the right side at its plus signs, except within parentheses."""
    terms: list[list[Token]] = [[]]
    depth = 0
    for token in right:
        depth += (token.text == "(") - (token.text == ")")
        if token.text == "+" and not depth:
            terms.append([])
        else:
            terms[-1].append(token)
    if not all(terms):
        raise InputError(f"formula {text!r}: a term is missing next to a '+'")
    return terms


def _smooth(text: str, term: list[Token], groups: tuple[str, ...]) -> Smooth:
    """Read one smooth from its tokens."""
    function, written = term[0].text, "".join(token.text for token in term)
    if term[-1].text != ")" or [t.text for t in term].count("(") != written.count(")"):
        raise InputError(f"formula {text!r}: {written} is no smooth that can be read here")
    names, options = [], []
    for argument in _arguments(term[2:-1]):
        if len(argument) > 1 and argument[1].text == "=":
            if argument[0].text not in OPTIONS:
                raise InputError(
                    f"formula {text!r}: {written} has the option "
                    f"{nearest(argument[0].text, OPTIONS)}"
                )
            _check_option(text, written, argument)
            options.append("".join(token.text for token in argument).replace("'", '"'))
        elif len(argument) == 1 and argument[0].kind == "name" and not options:
            names.append(argument[0].text)
        else:
            raise InputError(
                f"formula {text!r}: {written} is not read here; smooths are of columns, such as "
                's(x, bs="cr", k=6) or te(w, z)'
            )
    used = [text.strip('"') for text in _strings(term)]
    if odd := [name for name in used if name not in BASES]:
        raise InputError(f"formula {text!r}: {written} has the basis {nearest(odd[0], BASES)}")
    grouping = [name for name in names if name in groups]
    random = RANDOM in used
    if random != bool(grouping) or len(grouping) > 1 or (random and len(names) > 2):
        raise InputError(
            f"formula {text!r}: {written} is not covered: a random smooth has one grouping variable "
            f'({", ".join(groups)}), at most one predictor, and bs="re"; no other has one'
        )
    if not names or (function == "s" and len(names) > 2) or (function != "s" and len(names) < 2):
        raise InputError(f"formula {text!r}: {written} has {len(names)} variables")
    return Smooth(function, tuple(names), tuple(options), random)


def _check_option(text: str, smooth: str, argument: list[Token]) -> None:
    """Raise an InputError unless an option is a number, a string, TRUE, FALSE or c() of these."""
    for token in argument[2:]:
        if token.kind == "name" and token.text not in ("c", "TRUE", "FALSE"):
            raise InputError(
                f"formula {text!r}: {smooth} has {token.text!r} in its option {argument[0].text}, which "
                "takes numbers, strings, TRUE or FALSE, and several of these in c()"
            )


def _strings(term: list[Token]) -> list[str]:
    return [token.text.replace("'", '"') for token in term if token.kind == "string"]


def _arguments(inner: list[Token]) -> list[list[Token]]:
    """Split the arguments of a call at its commas, except within parentheses."""
    arguments: list[list[Token]] = [[]]
    depth = 0
    for token in inner:
        depth += (token.text == "(") - (token.text == ")")
        if token.text == "," and not depth:
            arguments.append([])
        else:
            arguments[-1].append(token)
    return [argument for argument in arguments if argument]
