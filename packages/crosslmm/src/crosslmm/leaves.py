"""The columns of a design as products of powers of leaves, so that they can be centred.

x, I(x^2) and I(x * z):c are powers and products of the leaves x, z and an indicator of c. Any other
expression, such as log(x), is a leaf itself.
"""

from collections import Counter

import numpy as np
import pandas as pd

from crosslmm.design import Design, Part, values_of_parts
from crosslmm.expressions import Expression, evaluate, names, read, written
from crosslmm.standardised import Monomial


def monomials_of(design: Design) -> dict[str, Monomial]:
    """Return each column's leaves with their powers."""
    monomials = {}
    for column, parts in design.columns.items():
        powers: Counter[Part] = Counter()
        for name, level in parts:
            if _is_expression(design, name, level):
                for leaf, power in _powers(read(name)).items():
                    powers[leaf, None] += power
            else:
                powers[name, level] += 1
        monomials[column] = tuple(sorted(powers.items(), key=repr))
    return monomials


def expressions_of(design: Design) -> set[Part]:
    """Return the numeric leaves, which may be centred."""
    return {
        (leaf, None)
        for parts in design.columns.values()
        for name, level in parts
        if _is_expression(design, name, level)
        for leaf in _powers(read(name))
    }


def leaf_values(design: Design, data: pd.DataFrame) -> dict[Part, np.ndarray]:
    """Return the values (n,) of all leaves for the rows of `data`, which may be new."""
    values = values_of_parts(design, data)  # raises for values that are not finite
    for leaf in expressions_of(design) - set(values):
        expression = read(leaf[0])
        columns = {name: data[name].to_numpy(np.float64) for name in names(expression)}
        values[leaf] = np.asarray(evaluate(expression, columns), dtype=np.float64)
    return values


def _is_expression(design: Design, name: str, level: int | str | None) -> bool:
    return level is None and name not in design.statistics


def _powers(expression: Expression) -> Counter[str]:
    """Return the powers of leaves whose product an expression is; itself if it is no product."""
    whole = Counter({written(expression): 1})
    if expression.kind == "parenthesis" or (expression.kind, expression.value) == ("call", "I"):
        return _powers(expression.parts[0])
    if expression.kind != "operation" or len(expression.parts) != 2:
        return whole
    left, right = expression.parts
    if expression.value == "*" and "number" not in (left.kind, right.kind):
        return _powers(left) + _powers(right)
    if expression.value == "^" and right.kind == "number" and right.value in "123456789":
        return Counter({leaf: power * int(right.value) for leaf, power in _powers(left).items()})
    return whole
