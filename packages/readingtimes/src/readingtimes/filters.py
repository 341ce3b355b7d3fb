"""Filters: conditions on columns, in a restricted grammar that cannot run code.

A condition is made of columns, numbers, texts, True and False; of comparisons (`100 < time_ms <
3000`), `in` and `not in` a list; of `and`, `or`, `not` (or `&`, `|`, `~`, which bind as these do);
of `+ - * / // % **`; and of the methods in `METHODS`. All of it means what it means in pandas'
`DataFrame.query`; whatever else that has is refused. Nothing here loads pandas: the config is
checked by the same grammar.
"""

import ast
import io
import operator
import re
import tokenize
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, reduce
from typing import Any

from readingtimes.errors import InputError
from readingtimes.names import hint, nearest

NUMBER, TEXT, FLAG, ANY = "number", "text", "flag", "any"
#: Method → kinds of its arguments (`list`: a list of constants), and kind of its result.
METHODS: dict[str, tuple[tuple[str, ...], str]] = {
    "isin": (("list",), FLAG),
    "isna": ((), FLAG),
    "notna": ((), FLAG),
    "between": ((NUMBER, NUMBER), FLAG),
    "abs": ((), NUMBER),
    "str.startswith": ((TEXT,), FLAG),
    "str.endswith": ((TEXT,), FLAG),
    "str.contains": ((TEXT,), FLAG),
    "str.isalpha": ((), FLAG),
    "str.isdigit": ((), FLAG),
    "str.isupper": ((), FLAG),
    "str.islower": ((), FLAG),
    "str.lower": ((), TEXT),
    "str.upper": ((), TEXT),
    "str.len": ((), NUMBER),
}
LONGEST = 5000  # maximum characters of a condition
_PATTERN = re.compile(r"[\\^$.|?*+()\[\]{}]")  # special characters of `str.contains`
_COMPARE = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_ARITHMETIC = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_UNARY = {ast.UAdd: operator.pos, ast.USub: operator.neg}
_MEMBERSHIP = (ast.In, ast.NotIn)
_WORDS = {"&": "and", "|": "or"}  # pandas replaces these operators everywhere


@dataclass(frozen=True)
class Condition:
    """A parsed condition: text, syntax tree, and columns by variable."""

    text: str
    tree: ast.expr
    names: Mapping[str, str]

    @property
    def columns(self) -> list[str]:
        """The columns used, without repetition."""
        return list(dict.fromkeys(self.names.values()))


@cache
def read(text: str) -> Condition:
    """Parse a condition; raise InputError for the part that the grammar does not permit."""
    if len(text) > LONGEST:
        raise InputError(f"it has {len(text):,} characters; {LONGEST:,} are the most")
    try:
        source, quoted = _rewritten(text)
        tree = ast.parse(source, mode="eval").body
    except InputError:
        raise
    except SyntaxError as error:
        way = "; = compares nothing, write ==" if re.search(r"[^<>=!]=[^=]", text) else ""
        raise InputError(f"it cannot be evaluated ({_short(str(error.msg))}){way}") from None
    except (tokenize.TokenError, ValueError, RecursionError, MemoryError):
        raise InputError("it cannot be evaluated; a bracket or a quote may be missing") from None
    names = {
        node.id: quoted.get(node.id, node.id)
        for node in ast.walk(tree)
        if isinstance(node, ast.Name)
    }
    condition = Condition(text, tree, names)
    try:
        kind = _kind(tree, condition, {})
    except RecursionError:
        raise InputError("it is nested too deeply; make it several filters") from None
    if kind not in (FLAG, ANY) or not names:
        raise InputError("it is not true or false of each row; compare a column, as in time_ms > 0")
    return condition


def problem(text: str, columns: Mapping[str, str]) -> str | None:
    """Return the fault of a condition on columns of these kinds, None if it is valid."""
    try:
        condition = read(text)
        unknown = [name for name in condition.columns if name not in columns]
        if unknown:
            return f"no column {nearest(unknown[0], columns)}"
        _check(condition, columns)
    except InputError as error:
        return str(error)
    return None


def _check(condition: Condition, columns: Mapping[str, str]) -> None:
    """Raise InputError unless a condition is boolean, as far as kinds are known."""
    if _kind(condition.tree, condition, columns) not in (FLAG, ANY) or not condition.names:
        raise InputError("it is not true or false of each row; compare a column, as in time_ms > 0")


def evaluated(frame: Any, where: str, text: str) -> Any:
    """Evaluate a condition for each row of a data frame; missing if undefined.

    Raises InputError, beginning with `where`, for an unknown column, and for a condition that cannot
    be evaluated or is not boolean.
    """
    columns = ", ".join(map(str, frame.columns))
    try:
        condition = read(text)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
    for name in condition.columns:
        if name not in frame.columns:
            near = hint(name, frame.columns)
            raise InputError(f"{where}: no column {name}; {near}There are: {columns}")
    try:
        result = _value(condition.tree, condition, frame)
    except (TypeError, ValueError, ArithmeticError, AttributeError, RecursionError) as error:
        reason = _short(str(error))
        raise InputError(
            f"{where} cannot be evaluated ({reason}); the columns are: {columns}"
        ) from error
    if str(getattr(result, "dtype", "")).lower() not in ("bool", "boolean"):
        raise InputError(
            f"{where} is not true or false of each row; compare a column, as in time_ms > 0"
        )
    return result


def _short(text: str, longest: int = 80) -> str:
    """Return a text on one line, truncated."""
    text = " ".join(text.split())
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _rewritten(text: str) -> tuple[str, dict[str, str]]:
    """Replace & and | by words, and columns in backticks by variables, which are returned too."""
    parts = re.split(r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]+`)""", text.strip())
    quoted = {f"_column_{n}": part[1:-1] for n, part in enumerate(parts) if part[:1] == "`"}
    source = "".join(
        f"_column_{n}" if part[:1] == "`" else part if n % 2 else " ".join(part.splitlines())
        for n, part in enumerate(parts)
    )
    if "@" in "".join(parts[::2]):
        raise InputError("@ means a variable of a program, and there is none; write the value")
    tokens = [
        (tokenize.NAME, _WORDS[token.string])
        if token.type == tokenize.OP and token.string in _WORDS
        else (token.type, token.string)
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
    ]
    return tokenize.untokenize(tokens).strip(), quoted


def _source_text(node: ast.AST, condition: Condition) -> str:
    """Return the source of a part of a condition, for messages."""
    text = ast.unparse(node)
    for variable, column in condition.names.items():
        text = text.replace(variable, column)
    return repr(_short(text, 50))


def _kind(node: ast.expr, condition: Condition, columns: Mapping[str, str]) -> str:
    """Return the kind of a part of a condition; raise InputError if it is not permitted.

    Kinds of columns that are not in `columns` are unknown.
    """
    if isinstance(node, ast.Name):
        return columns.get(condition.names[node.id], ANY)
    if isinstance(node, ast.Constant):
        return _constant_kind(node, condition)
    if isinstance(node, ast.BoolOp):
        parts = node.values
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.Invert):
        parts = [node.operand]
    elif isinstance(node, ast.Compare):
        return _kind_of_comparison(node, condition, columns)
    elif isinstance(node, ast.Call):
        return _kind_of_call(node, condition, columns)
    else:
        return _kind_of_expression(node, condition, columns)
    for part in parts:
        if isinstance(part, ast.Constant) or _kind(part, condition, columns) not in (FLAG, ANY):
            raise InputError(
                f"{_source_text(part, condition)} is neither true nor false; compare it"
            )
    return FLAG


def _constant_kind(node: ast.Constant, condition: Condition) -> str:
    """Return the kind of a constant."""
    kinds = {bool: FLAG, int: NUMBER, float: NUMBER, str: TEXT}
    if type(node.value) not in kinds:
        way = "; for what is missing write .isna()" if node.value is None else ""
        raise InputError(
            f"{_source_text(node, condition)} is no number, no text and no truth value{way}"
        )
    return kinds[type(node.value)]


def _kind_of_expression(node: ast.expr, condition: Condition, columns: Mapping[str, str]) -> str:
    """Return the kind of an arithmetic expression; raise InputError for other expressions."""
    if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        parts = [node.left, node.right]
    elif isinstance(node, ast.UnaryOp) and type(node.op) in _UNARY:
        parts = [node.operand]
    elif isinstance(node, ast.Attribute):
        raise InputError(
            f"{_source_text(node, condition)} is no part of a filter; there are columns, comparisons and "
            f"the methods {', '.join(f'.{name}()' for name in list(METHODS)[:6])} …"
        )
    elif isinstance(node, ast.List | ast.Tuple):
        raise InputError(
            f"{_source_text(node, condition)}: a list goes behind `in` or into .isin()"
        )
    else:
        raise InputError(f"{_source_text(node, condition)} is no part of a filter")
    for part in parts:
        if _kind(part, condition, columns) == TEXT:
            raise InputError(
                f"{_source_text(part, condition)} is text, and cannot be calculated with"
            )
    return NUMBER


def _kind_of_comparison(node: ast.Compare, condition: Condition, columns: Mapping[str, str]) -> str:
    """Return the kind of a chain of comparisons of comparable values."""
    left = node.left
    for sign, right in zip(node.ops, node.comparators, strict=True):
        if type(sign) not in _COMPARE and not isinstance(sign, _MEMBERSHIP):
            raise InputError(f"{_source_text(node, condition)}: write == or != to compare")
        one = _kind(left, condition, columns)
        listed = isinstance(right, ast.List | ast.Tuple)
        if isinstance(sign, _MEMBERSHIP) and not listed:
            raise InputError(f"{_source_text(node, condition)}: `in` wants a list, as in [1, 2]")
        if listed and not isinstance(sign, (*_MEMBERSHIP, ast.Eq, ast.NotEq)):
            raise InputError(f"{_source_text(node, condition)}: a list has no order")
        others = _list_kinds(right, condition) if listed else {_kind(right, condition, columns)}
        _comparable(one, others, node, condition)
        left = right
    return FLAG


def _comparable(one: str, others: set[str], node: ast.AST, condition: Condition) -> None:
    """Raise InputError if text is compared with another kind."""
    for other in others:
        if {one, other} & {TEXT} and {one, other} & {NUMBER, FLAG}:
            raise InputError(
                f"{_source_text(node, condition)} compares text with a number or a truth value"
            )


def _list_kinds(node: ast.expr, condition: Condition) -> set[str]:
    """Return the kinds of the constants in a list."""
    if not isinstance(node, ast.List | ast.Tuple) or not node.elts:
        raise InputError(
            f"{_source_text(node, condition)}: a list of values is wanted, as in ['a', 'b']"
        )
    return {_constant_kind(_plain(element, condition), condition) for element in node.elts}


def _plain(node: ast.expr, condition: Condition) -> ast.Constant:
    """Return a constant, including its sign."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = node.operand
        if isinstance(inner, ast.Constant) and type(inner.value) in (int, float):
            return ast.Constant(-inner.value)
    if not isinstance(node, ast.Constant):
        raise InputError(f"{_source_text(node, condition)}: a list has numbers and texts alone")
    return node


def _method(node: ast.Call) -> tuple[str, ast.expr | None]:
    """Return the name of a called method (with `str.` for text methods), and its object."""
    function = node.func
    if not isinstance(function, ast.Attribute):
        return "", None
    inner = function.value
    if isinstance(inner, ast.Attribute) and inner.attr == "str":
        return f"str.{function.attr}", inner.value
    return function.attr, inner


def _kind_of_call(node: ast.Call, condition: Condition, columns: Mapping[str, str]) -> str:
    """Return the kind of a method's result; raise InputError unless it is in `METHODS`."""
    name, column = _method(node)
    if column is None:
        raise InputError(
            f"{_source_text(node.func, condition)}() is no part of a filter; nothing is run"
        )
    if name not in METHODS:
        raise InputError(f"no method {nearest(name, METHODS)}")
    wanted, gives = METHODS[name]
    if node.keywords or len(node.args) != len(wanted):
        raise InputError(f".{name}() takes {len(wanted) or 'no'} value(s), and no names of them")
    one = _kind(column, condition, columns)
    if name.startswith("str.") and one not in (TEXT, ANY) or name == "abs" and one == TEXT:
        raise InputError(f".{name}() is not of {_source_text(column, condition)}, a {one}")
    if not any(isinstance(part, ast.Name) for part in ast.walk(column)):
        raise InputError(f".{name}() is of a column, not of {_source_text(column, condition)}")
    for kind, given in zip(wanted, node.args, strict=True):
        if kind == "list":
            _comparable(one, _list_kinds(given, condition), node, condition)
        elif _constant_kind(_plain(given, condition), condition) != kind:
            raise InputError(f".{name}() takes a {kind}, not {_source_text(given, condition)}")
    if name == "between" and one == TEXT:
        raise InputError(f".between() is not of {_source_text(column, condition)}, a text")
    if name == "str.contains" and _PATTERN.search(node.args[0].value):
        raise InputError(
            f".str.contains() finds text; {_source_text(node.args[0], condition)} has signs of a pattern"
        )
    return gives


# Evaluation: operators and results are those of pandas' `query`.


def _value(node: ast.expr, condition: Condition, frame: Any) -> Any:
    """Evaluate a part of a condition for each row of a frame, or as a constant."""
    if isinstance(node, ast.Name):
        return frame[condition.names[node.id]]
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.BoolOp):
        join = operator.and_ if isinstance(node.op, ast.And) else operator.or_
        return reduce(join, (_value(part, condition, frame) for part in node.values))
    if isinstance(node, ast.UnaryOp):
        value = _value(node.operand, condition, frame)
        return (_UNARY.get(type(node.op), operator.invert))(value)
    if isinstance(node, ast.BinOp):
        parts = [_value(part, condition, frame) for part in (node.left, node.right)]
        if all(isinstance(part, int | float) for part in parts):
            parts = [float(part) for part in parts]  # integers could grow without bound
        return _ARITHMETIC[type(node.op)](*parts)
    if isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        operands = [
            _comparison(sign, a, b, condition, frame)
            for sign, a, b in zip(node.ops, sides, sides[1:], strict=False)
        ]
        return reduce(operator.and_, operands)
    name, column = _method(node)
    value = _value(column, condition, frame)
    given = [_literal(argument) for argument in node.args]
    if name.startswith("str."):
        value, name = value.str, name.removeprefix("str.")
    return getattr(value, name)(*given)


def _comparison(sign: ast.cmpop, a: ast.expr, b: ast.expr, condition: Condition, frame: Any) -> Any:
    """Evaluate one comparison; `in` uses isin, as in pandas."""
    for side, other in ((a, b), (b, a)):
        looked_up = isinstance(side, ast.List | ast.Tuple) or (
            isinstance(side, ast.Constant)
            and isinstance(side.value, str)
            and type(sign) in (ast.Eq, ast.NotEq)
        )
        if looked_up:
            listed = _literal(side)
            value = _value(other, condition, frame)
            is_listed = value.isin(listed if isinstance(listed, list) else [listed])
            return ~is_listed if isinstance(sign, ast.NotIn | ast.NotEq) else is_listed
    left, right = (_value(side, condition, frame) for side in (a, b))
    return _COMPARE[type(sign)](left, right)


def _literal(node: ast.expr) -> Any:
    """Return a constant or a list of them as values."""
    value = ast.literal_eval(node)
    return list(value) if isinstance(value, tuple) else value
