"""The search on columns that were centred and scaled, and theta in the units given.

Cross-products of raw columns (years, milliseconds) lose half their digits. X is replaced by X_s =
X B, each random term's Z by Z_s = Z A, with B and A invertible: the likelihood is the same, and
b = B b_s, L = A L_s.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import block_diag

from recency.mixed.expressions import split_product
from recency.mixed.factors import Factor
from recency.mixed.formula import INTERCEPT, Formula, RandomTerm
from recency.mixed.levels import Levels, joined
from recency.mixed.search import Found, search_theta
from recency.mixed.theta_search import SINGULAR

CONSTANT = 1e-7
"""Standard deviation, as a share of the root mean square, below which a column is constant (qr's)."""


@dataclass
class ScaledSearch:
    """A search on scaled columns, and what brings it back to the units given."""

    formula: Formula
    groups: dict[str, Levels]
    found: Found
    B: np.ndarray
    """of X, (p, p)"""
    A: list[np.ndarray]
    """of each factor of `found`, (k, k)"""
    mean: float
    """of the response, which the search does without where there is an intercept"""

    def in_given_units(self) -> Found:
        """Return what was found with the columns' own names and theta."""
        factors, ends = [], []
        optimum = self.found.optimum
        for factor, A, L in zip(self.found.factors, self.A, (optimum.La, optimum.Lb), strict=False):
            columns = tuple(name.partition("|")[0] for name in factor.columns)
            factors.append(Factor(factor.group.strip("`"), columns, factor.free))
            ends.append(np.where(factor.free, _triangle(A @ L), 0.0))
        ends += [optimum.Lb] * (2 - len(ends))
        diagonals = [*np.diagonal(ends[0]), *np.diagonal(ends[1])]
        diagonals += [optimum.t] if self.found.nested else []
        optimum = replace(optimum, La=ends[0], Lb=ends[1], singular=min(diagonals) < SINGULAR)
        return replace(self.found, factors=factors, optimum=optimum)


def as_given(
    formula: Formula, found: Found, groups: Mapping[str, Levels], mean: float
) -> ScaledSearch:
    """Return a search on columns that nobody scaled here; `mean` is the response's."""
    p, mean = len(formula.fixed), mean if INTERCEPT in formula.fixed else 0.0
    A = [np.eye(len(factor.columns)) for factor in found.factors]
    random = []
    for term in formula.random:  # as a design has them: what is not correlated stands alone
        parts = [term.columns] if term.correlated else [(each,) for each in term.columns]
        random += [RandomTerm(part, term.group) for part in parts]
    formula = replace(formula, random=tuple(random))
    return ScaledSearch(formula, dict(groups), found, np.eye(p), A, mean)


def search(
    formula: Formula,
    columns: Mapping[str, np.ndarray],
    y: np.ndarray,
    groups: Mapping[str, Levels],
) -> ScaledSearch:
    """Search theta for columns (n,) by name; raises as recency.mixed.fit.search_theta does."""
    groups, names = dict(groups), dict.fromkeys(term.group for term in formula.random)
    if len(names) <= 2:
        # A group a:b is a factor of its own: backticks keep the name in one piece.
        for name in [each for each in names if len(split_product(each)) > 1]:
            groups[f"`{name}`"] = joined(name, groups)
            names[name] = f"`{name}`"
    scaled, B = _fixed(formula, columns)
    random, by_term = [], {}
    for place, term in enumerate(formula.random):
        values, A = _random(term, columns)
        labels = [c if c == INTERCEPT else f"{c}|{place}" for c in term.columns]
        scaled |= dict(zip(labels, values, strict=True))
        group = names[term.group] or term.group
        random.append(replace(term, columns=tuple(labels), group=group))
        by_term[group, tuple(labels)] = A
    model = replace(formula, random=tuple(random))
    found = search_theta(model, scaled, y, groups)
    A = []
    for factor in found.factors:
        parts = [by_term[t.group, t.columns] for t in random if t.group == factor.group]
        A.append(block_diag(*parts) if parts else np.zeros((0, 0)))
    mean = float(y.mean()) if INTERCEPT in formula.fixed else 0.0
    return ScaledSearch(formula, groups, found, B, A, mean)


def _fixed(
    formula: Formula, columns: Mapping[str, np.ndarray]
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Centre and scale the columns of X; return them and B."""
    centred = INTERCEPT in formula.fixed
    scaled, B = {}, np.eye(len(formula.fixed))
    for c, name in enumerate(formula.fixed):
        values = columns[name]
        if name == INTERCEPT:
            scaled[name] = values
            continue
        mean, sd = _moments(values, centred)
        # A column of zeros is left out, as one that depends on the intercept.
        scaled[name] = (values - mean) / sd if sd else np.zeros(len(values))
        if sd:
            B[c, c] = 1 / sd
            B[0, c] = -mean / sd if centred else B[0, c]
    return scaled, B


def _random(
    term: RandomTerm, columns: Mapping[str, np.ndarray]
) -> tuple[list[np.ndarray], np.ndarray]:
    """Scale the columns of a random term, centred beside an intercept; return them and A."""
    values, A = [], np.eye(len(term.columns))
    centred = term.columns[0] == INTERCEPT
    for c, name in enumerate(term.columns):
        mean, sd = (0.0, 1.0) if name == INTERCEPT else _moments(columns[name], centred)
        mean, sd = (mean, sd) if sd else (0.0, 1.0)
        values.append((columns[name] - mean) / sd)
        A[c, c] = 1 / sd
        if c and centred:
            A[0, c] = -mean / sd
    return values, A


def _moments(values: np.ndarray, centred: bool) -> tuple[float, float]:
    """Return mean and sd of a column, or 0 and its root mean square; sd 0 of a constant one."""
    square = float(np.sqrt(np.mean(values**2)))
    if not centred:
        return 0.0, square
    mean, sd = float(values.mean()), float(values.std())
    return mean, sd if sd > CONSTANT * square else 0.0


def _triangle(root: np.ndarray) -> np.ndarray:
    """Return the lower triangular L with L L' = root root', no diagonal element below 0."""
    if not len(root):
        return root
    L = np.linalg.qr(root.T, mode="r").T
    return L * np.where(np.diagonal(L) < 0, -1.0, 1.0)
