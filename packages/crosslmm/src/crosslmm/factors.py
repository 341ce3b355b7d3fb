"""The grouping factors of a formula: their columns, and the free elements of their covariance."""

from dataclasses import dataclass

import numpy as np

from crosslmm.expressions import split_product
from crosslmm.formula import INTERCEPT, Formula, RandomTerm


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
