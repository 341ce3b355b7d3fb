"""Names, numbers and arithmetic of a formula in R's notation: parse, write as R does, evaluate."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from crosslmm.errors import InputError


class Uncovered(InputError):
    """A construct of R's notation that is not supported here, though R may support it."""


@dataclass(frozen=True)
class Token:
    """One token of a formula: its kind (name, number, string, operator) and text."""

    kind: str
    text: str


@dataclass(frozen=True)
class Expression:
    """A syntax tree: `kind` is name, number, call, operation (one or two parts) or parenthesis."""

    kind: str
    value: str
    parts: tuple[Expression, ...] = ()


FUNCTIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "I": lambda values: values,
    "abs": np.abs,
    "exp": np.exp,
    "log": np.log,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "sqrt": np.sqrt,
}
CODINGS = ("scale", "factor", "poly")
"""Functions that need statistics or levels of the fitted data; each is a whole term."""
R_FUNCTIONS = (
    *("s", "te", "ti", "t2", "ns", "bs", "offset", "cut", "ordered", "relevel", "interaction"),
    *("sin", "cos", "tan", "round", "floor", "ceiling", "pmin", "pmax", "ifelse", "is.na"),
    *("as.numeric", "as.factor", "cbind", "c"),
)
"""Further functions that a formula may call if R reads it."""
R_OPERATORS = (
    *("~", "+", "-", "*", "/", "^", ":", "|", "||", "(", "%in%", "%%", "%/%"),
    *("==", "!=", "<", "<=", ">", ">=", "&", "&&", "!"),
)
"""Operators of such a formula, which are functions in R."""
DEGREES = 9
"""The highest degree of poly(x, degree)."""
RESERVED = {"TRUE", "FALSE", "NULL", "NA", "NaN", "Inf", "pi", "function"}
SYNTACTIC = re.compile(r"(?:[^\W\d_]|\.(?!\d))[\w.]*")
TOKEN = re.compile(
    r"(?P<name>`[^`]+`|(?:[^\W\d_]|\.(?!\d))[\w.]*)"
    r"|(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?L?)"
    r"|(?P<string>\"[^\"]*\"|'[^']*')"
    r"|(?P<operator>\|\||::?|\*\*|%[^%\s]*%|[=!<>]=|&&|[-+*/^()|,~=<>&!\[\]$@{}])"
)
POWER, UNARY, PRODUCT, SUM = 4, 3, 2, 1
BINDING = {"^": POWER, "*": PRODUCT, "/": PRODUCT, "+": SUM, "-": SUM}
SPACED = ("+", "-", "*")


def tokens(text: str) -> list[Token]:
    """Split a formula into tokens; raise an InputError at a character that belongs to none."""
    pieces, position = [], 0
    while position < len(text):
        if text[position].isspace():
            position += 1
            continue
        match = TOKEN.match(text, position)
        if match is None:
            raise InputError(f"formula {text!r}: {text[position:]!r} cannot be read")
        if match.group() == ".":
            raise InputError(
                f"formula {text!r}: '.' is all other columns in R, and not read here; name the predictors"
            )
        piece = "^" if match.group() == "**" else match.group()
        pieces.append(Token(match.lastgroup, piece))
        position = match.end()
    return pieces


def variables(text: str) -> list[str]:
    """Return the names in a formula that are columns of the data, in order of appearance.

    Names of functions, arguments and R's constants are excluded. Works for all of R's notation.
    """
    columns, row = [], [Token("operator", ""), *tokens(text), Token("operator", "")]
    for before, token, after in zip(row, row[1:], row[2:], strict=False):
        other = after.text in ("(", "::", "=") or before.text in ("::", "$", "@")
        if token.kind == "name" and not other and token.text not in RESERVED:
            columns.append(token.text.strip("`"))
    return list(dict.fromkeys(columns))


class Reader:
    """A reader of one token after the other."""

    def __init__(self, text: str):
        self.text, self.tokens, self.position = text, tokens(text), 0

    @property
    def next(self) -> str:
        """The text of the next token, empty at the end."""
        return self.tokens[self.position].text if self.position < len(self.tokens) else ""

    def take(self, *expected: str) -> Token:
        """Return the next token; raise an InputError unless it is one of `expected`, if given."""
        if self.position == len(self.tokens) or (expected and self.next not in expected):
            what = repr(self.next) if self.next else "the end"
            wanted = " or ".join(map(repr, expected)) or "a term"
            raise InputError(f"formula {self.text!r}: {wanted} is missing before {what}")
        self.position += 1
        return self.tokens[self.position - 1]

    def expression(self, least: int = SUM) -> Expression:
        """Read arithmetic with operators that bind at least as tightly as `least`."""
        if self.next in ("-", "+"):
            sign = self.take().text
            left = Expression("operation", sign, (self.expression(UNARY),))
        else:
            left = self._primary()
        while (binding := BINDING.get(self.next, 0)) >= least:
            operator = self.take().text
            right = self.expression(binding if operator == "^" else binding + 1)
            left = Expression("operation", operator, (left, right))
        return left

    def _primary(self) -> Expression:
        token = self.take()
        if token.text == "(":
            inner = self.expression()
            self.take(")")
            return Expression("parenthesis", "(", (inner,))
        if token.kind == "number":
            return Expression("number", token.text.rstrip("L"))
        if token.kind != "name" or token.text in RESERVED:
            raise Uncovered(f"formula {self.text!r}: {token.text!r} cannot be read here")
        if self.next != "(":
            return Expression("name", token.text.strip("`"))
        return Expression("call", token.text, self._arguments(token.text))

    def _arguments(self, function: str) -> tuple[Expression, ...]:
        if function not in FUNCTIONS and function not in CODINGS:
            supported = ", ".join(f"{name}()" for name in (*FUNCTIONS, *CODINGS))
            raise Uncovered(
                f"formula {self.text!r}: {function}() cannot be read; there are {supported}"
            )
        self.take("(")
        inner = self.expression()
        if function == "poly":
            return inner, self._degree()
        if self.next != ")":
            raise Uncovered(
                f"formula {self.text!r}: {function}({written(inner)} {self.next} … cannot be read; "
                "it takes one argument here"
            )
        self.take(")")
        return (inner,)

    def _degree(self) -> Expression:
        """Read the rest of poly(x, degree); R accepts further arguments."""
        self.take(",")
        degree = self.take()
        if not degree.text.isdigit() or not 1 <= int(degree.text) <= DEGREES or self.next != ")":
            raise Uncovered(
                f"formula {self.text!r}: poly(x, {degree.text} {self.next} … cannot be read; write "
                f"poly(x, degree) with a degree from 1 to {DEGREES}"
            )
        self.take(")")
        return Expression("number", degree.text)


@functools.lru_cache(maxsize=4096)  # a plan of many jobs repeats few expressions
def read(text: str) -> Expression:
    """Read one expression, such as a term's factor or a response."""
    reader = Reader(text)
    expression = reader.expression()
    if reader.next:
        raise Uncovered(f"formula {text!r}: {reader.next!r} cannot be read here")
    return expression


def written(expression: Expression) -> str:
    """Write an expression as R's deparse() does, so that columns have R's names."""
    parts = [written(part) for part in expression.parts]
    if expression.kind == "name":
        name = expression.value
        return name if SYNTACTIC.fullmatch(name) else f"`{name}`"
    if expression.kind == "number":
        return f"{float(expression.value):.15g}"
    if expression.kind == "call":
        return f"{expression.value}({', '.join(parts)})"
    if expression.kind == "parenthesis":
        return f"({parts[0]})"
    if len(parts) == 1:
        return expression.value + parts[0]
    space = " " if expression.value in SPACED else ""
    return f"{parts[0]}{space}{expression.value}{space}{parts[1]}"


def names(expression: Expression) -> list[str]:
    """Return the columns that an expression needs."""
    if expression.kind == "name":
        return [expression.value]
    return [name for part in expression.parts for name in names(part)]


def evaluate(expression: Expression, data: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return the values (n,) of an expression of numeric columns (n,) of `data`."""
    if expression.kind == "name":
        return data[expression.value]
    if expression.kind == "number":
        return np.float64(expression.value)
    parts = [evaluate(part, data) for part in expression.parts]
    with np.errstate(all="ignore"):  # callers check for values that are not finite
        if expression.kind == "call":
            if expression.value in CODINGS:
                raise Uncovered(f"{written(expression)} stands within another expression")
            return FUNCTIONS[expression.value](parts[0])
        if expression.kind == "parenthesis":
            return parts[0]
        if len(parts) == 1:
            return -parts[0] if expression.value == "-" else parts[0]
        return _ARITHMETIC[expression.value](*parts)


_ARITHMETIC = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "^": np.power,
}


def split_product(column: str) -> list[str]:
    """Split `a:b` at its colons, except within backticks."""
    if "`" not in column:
        return column.split(":")
    return re.findall(r"(?:`[^`]*`|[^:`])+", column)
