"""The grouping factors of a formula: their columns, and the free elements of their covariance.

Grouping variables as integer codes and the names of their levels.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from crosslmm.expressions import split_product
from crosslmm.formula import INTERCEPT, Formula, RandomTerm

if TYPE_CHECKING:
    import pandas as pd


class NotSearchable(ValueError):
    """A model that the search on cross-products does not cover; the message gives the reason."""


@dataclass(frozen=True)
class Factor:
    """A grouping variable, the columns of all its terms, and the free elements of its L (k, k)."""

    group: str
    columns: tuple[str, ...]
    free: np.ndarray


def nested_group(formula: Formula) -> str | None:
    """Return the group of the nested intercept, such as `sentence:subject`, if there is one."""
    terms = [term for term in formula.random if len(split_product(term.group)) > 1]
    if not terms:
        return None
    if len(terms) > 1 or terms[0].columns != (INTERCEPT,):
        raise NotSearchable("the search covers one nested term, an intercept")
    return terms[0].group


def crossed_factors(formula: Formula) -> list[Factor]:
    """Return the one or two crossed factors of a model that the search covers.

    Both parts of a nested group are included, without columns if they have no terms.
    """
    nested = nested_group(formula)
    random = [term for term in formula.random if term.group != nested]
    names = list(dict.fromkeys(term.group for term in random))
    if nested:
        if not names:
            raise NotSearchable("the search covers no nested term by itself")
        inner = split_product(nested)
        names += [name for name in inner if name not in names]
        if len(set(inner)) != 2:
            raise NotSearchable("the search covers groups nested two deep")
    if len(names) > 2:
        raise NotSearchable("the search covers at most two grouping variables and their nesting")
    return [_factor(name, [term for term in random if term.group == name]) for name in names]


def all_factors(formula: Formula) -> list[Factor]:
    """Return the factor of each grouping variable, where a nested one such as `a:b` is separate."""
    names = dict.fromkeys(term.group for term in formula.random)
    return [_factor(name, [t for t in formula.random if t.group == name]) for name in names]


def _factor(group: str, terms: list[RandomTerm]) -> Factor:
    columns = tuple(c for term in terms for c in term.columns)
    if len(set(columns)) < len(columns):
        raise NotSearchable(f"a column occurs in two terms of {group}")
    free, start = np.zeros((len(columns),) * 2, dtype=bool), 0
    for term in terms:
        end = start + len(term.columns)
        block = np.ones((end - start,) * 2, dtype=bool)
        free[start:end, start:end] = np.tril(block) if term.correlated else np.diag(block[0])
        start = end
    return Factor(group, columns, free)


@dataclass
class Levels:
    """A grouping variable: integer codes (n,) from 0, and the name of each code's level."""

    codes: np.ndarray
    names: list[str]


def levels(values: "np.ndarray | pd.Series") -> Levels:
    """Code a grouping variable, with levels in their natural order."""
    import pandas as pd

    codes, names = pd.factorize(values, sort=True)
    return Levels(codes, [str(name) for name in names])


def joined(name: str, groups: Mapping[str, Levels]) -> Levels:
    """Return a grouping variable; `a:b` has the levels `<level of a>:<level of b>` that occur."""
    first, *others = split_product(name)
    group = groups[first]
    for other in others:
        inner = groups[other]
        cells, codes = np.unique(group.codes * len(inner.names) + inner.codes, return_inverse=True)
        names = [
            f"{group.names[cell // len(inner.names)]}:{inner.names[cell % len(inner.names)]}"
            for cell in cells
        ]
        group = Levels(codes, names)
    return group
