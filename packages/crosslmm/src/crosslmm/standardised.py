"""Columns of a model centred and scaled before any engine, and the way back to the given units.

A column is a product of powers of leaves: indicators, polynomials, numeric expressions. A numeric
leaf u is replaced by u - c. Since (u - c)(v - d) = uv - dv - cu + cd, the new columns span the same
space only if the lower products are in it too; otherwise the leaf is not centred. The values are
computed from the centred leaves, not from the given products, whose digits a large c uses up. Each
column is then centred, if there is an intercept, and divided by its standard deviation.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from crosslmm.formula import INTERCEPT

Leaf = tuple[str, int | str | None]
"""A numeric expression, or an indicator, contrast or polynomial: see `crosslmm.design.Part`."""
Monomial = tuple[tuple[Leaf, int], ...]
"""Leaves with their powers, sorted."""
DEPENDENT = 1e-7
"""Share of a column's length that earlier columns leave of it, below which it depends on them."""
SUSPECT = 1e-3
"""The same share, squared, below which a column is replaced by what others leave of it."""
ROUNDING = 16 * float(np.finfo(float).eps)
"""Differences below this share of a column's largest value are treated as rounding."""
IN_SPAN = 1e-9
"""Largest distance of a column from the span of others that contains it, relative to its size."""


@dataclass(frozen=True)
class Basis:
    """The columns X of a set (the fixed effects, or one random term): X_s = X B, b = B b_s."""

    columns: tuple[str, ...]
    """the given columns (p,)"""
    B: np.ndarray
    """(p, p); columns that are dropped have no part in those that are kept"""
    kept: tuple[int, ...]
    """the columns that do not depend on others"""
    constant: np.ndarray | None
    """coefficients (p,) of the given columns whose sum is 1 in every row, if there are any"""
    monomials: tuple[Monomial, ...] = ()
    centres: Mapping[Leaf, float] = field(default_factory=dict)
    means: tuple[float, ...] = ()
    sds: tuple[float, ...] = ()
    turn: np.ndarray | None = None
    """(p, p); by it the scaled columns are multiplied where they are nearly dependent"""

    @property
    def names(self) -> tuple[str, ...]:
        """The given columns that are kept."""
        return tuple(self.columns[c] for c in self.kept)

    @property
    def dropped(self) -> list[str]:
        """The given columns that depend on others."""
        return [name for c, name in enumerate(self.columns) if c not in self.kept]

    def values(self, leaves: Mapping[Leaf, np.ndarray], rows: int) -> list[np.ndarray]:
        """Return the standardised columns (rows,) that are kept."""
        every = []
        for c in self.kept:
            product = _product(self.monomials[c], self.centres, leaves, rows)
            every.append((product - self.means[c]) / self.sds[c])
        if self.turn is None:
            return every
        turn = self.turn[np.ix_(self.kept, self.kept)]
        return [sum(w * v for w, v in zip(of, every, strict=True) if w) for of in turn.T]


def identity(columns: tuple[str, ...]) -> Basis:
    """Return the basis of columns that are used as they are."""
    p = len(columns)
    constant = None
    if INTERCEPT in columns:
        constant = np.eye(p)[columns.index(INTERCEPT)]
    return Basis(columns, np.eye(p), tuple(range(p)), constant)


def basis_of(
    columns: tuple[str, ...],
    monomials: Sequence[Monomial],
    leaves: Mapping[Leaf, np.ndarray],
    expressions: Collection[Leaf],
    rows: int,
    fixed: bool = True,
) -> Basis:
    """Return the basis of a set of columns.

    Parameters
    ----------
    columns, monomials
        Names and products of the columns.
    leaves
        Values (n,).
    expressions
        The leaves that may be centred.
    rows
        n.
    fixed
        Whether columns that depend on others are dropped.
    """
    used = {leaf for monomial in monomials for leaf, _ in monomial} & set(expressions)
    centres = {leaf: _mean(leaves[leaf]) for leaf in used}
    centres = {
        leaf: centre
        for leaf, centre in centres.items()
        if np.abs(leaves[leaf] - centre).max() > ROUNDING * abs(centre)
    }
    while True:
        builder = _Builder(columns, monomials, leaves, centres, rows)
        missing = builder.build()
        if not missing:
            return builder.basis(fixed)
        centres = {leaf: value for leaf, value in centres.items() if leaf not in missing}


def _mean(values: np.ndarray) -> float:
    """Return the mean (n,), which is exact for a constant."""
    return float(values[0] + (values - values[0]).mean())


def _product(
    monomial: Monomial,
    centres: Mapping[Leaf, float],
    leaves: Mapping[Leaf, np.ndarray],
    rows: int,
) -> np.ndarray:
    values = np.ones(rows)
    for leaf, power in monomial:
        centred = leaves[leaf] - centres.get(leaf, 0.0)
        values = values * (centred if power == 1 else centred**power)
    return values


class _Builder:
    """Express centred products by the given columns, lowest degrees first."""

    def __init__(
        self,
        columns: tuple[str, ...],
        monomials: Sequence[Monomial],
        leaves: Mapping[Leaf, np.ndarray],
        centres: dict[Leaf, float],
        rows: int,
    ) -> None:
        self.columns, self.monomials, self.leaves = columns, tuple(monomials), leaves
        self.centres, self.p, self.n = centres, len(columns), rows
        self.degrees = [sum(q for leaf, q in m if centres.get(leaf)) for m in self.monomials]
        self.order = sorted(range(self.p), key=self.degrees.__getitem__)
        self.values: dict[int, np.ndarray] = {}
        """the centred products (n,)"""
        self.C = np.zeros((self.p, self.p))
        """their coefficients, by given column"""

    def build(self) -> set[Leaf]:
        """Compute the products; return the leaves that cannot be centred, none if all is well."""
        for c in self.order:
            monomial = self.monomials[c]
            self.values[c] = _product(monomial, self.centres, self.leaves, self.n)
            self.C[c, c] = 1.0
            for lower, factor, removed in self._lower(monomial):
                known = self._known_coefficients(lower, self.degrees[c])
                if known is None:
                    return removed
                self.C[:, c] -= factor * known
        return set()

    def _lower(self, monomial: Monomial) -> list[tuple[Monomial, float, set[Leaf]]]:
        """Return the lower products in a product's expansion, their factors, and what they lack."""
        choices = [
            [(leaf, q, power) for q in range(power + 1 if self.centres.get(leaf) else 0)]
            or [(leaf, power, power)]
            for leaf, power in monomial
        ]
        parts = []
        for chosen in itertools.product(*choices):
            removed = {leaf for leaf, q, power in chosen if q < power}
            if removed:
                factor = math.prod(
                    math.comb(power, q) * self.centres.get(leaf, 1.0) ** (power - q)
                    for leaf, q, power in chosen
                )
                parts.append((tuple((leaf, q) for leaf, q, _ in chosen if q), factor, removed))
        return parts

    def _known_coefficients(self, monomial: Monomial, degree: int) -> np.ndarray | None:
        """Return the coefficients (p,) of a product by the given columns, if it is in their span."""
        for c in self.values:
            if self.monomials[c] == monomial:
                return self.C[:, c].copy()
        below = [c for c in self.values if self.degrees[c] < max(degree, 1)]
        if not below:
            return None
        target = _product(monomial, self.centres, self.leaves, self.n)
        weights = _in_span([self.values[c] for c in below], target)
        return None if weights is None else self.C[:, below] @ weights

    def basis(self, fixed: bool) -> Basis:
        """Return the basis, with each column centred and scaled."""
        constant = self._known_coefficients((), 1)
        centred = INTERCEPT in self.columns
        B, means, sds = self.C.copy(), np.zeros(self.p), np.ones(self.p)
        noise = np.zeros(self.p)
        for c in self.order:
            if self.columns[c] == INTERCEPT:
                continue
            values, rounding = self.values[c], self._rounding(self.monomials[c])
            mean = _mean(values) if centred else 0.0
            sd = float(np.sqrt(np.mean((values - mean) ** 2)))
            if not sd > rounding and not fixed:  # a constant, which is not centred
                mean, sd = 0.0, float(np.sqrt(np.mean(values**2)))
            is_constant = not sd > rounding
            means[c], sds[c] = mean, 1.0 if is_constant else sd
            noise[c] = np.inf if is_constant else rounding / sd
            B[:, c] = (self.C[:, c] - (mean * constant if centred else 0.0)) / sds[c]
        kept, turn = tuple(range(self.p)), None
        if fixed and self.p:
            extended = np.column_stack([B, np.zeros(self.p) if constant is None else constant])
            kept, turn = self._independent(extended, means, sds, noise)
            B, constant = extended[:, :-1], None if constant is None else extended[:, -1]
        scaling = tuple(means.tolist()), tuple(sds.tolist())
        return Basis(self.columns, B, kept, constant, self.monomials, self.centres, *scaling, turn)

    def _rounding(self, monomial: Monomial) -> float:
        """Return the largest rounding error of a centred product, from that of its leaves."""
        largest = 0.0
        for number, (leaf, power) in enumerate(monomial):
            rest = (*monomial[:number], (leaf, power - 1), *monomial[number + 1 :])
            others = _product(rest, self.centres, self.leaves, self.n)
            largest = max(largest, power * float(np.abs(self.leaves[leaf] * others).max()))
        return ROUNDING * largest

    def _independent(
        self, B: np.ndarray, means: np.ndarray, sds: np.ndarray, noise: np.ndarray
    ) -> tuple[tuple[int, ...], np.ndarray | None]:
        """Return the columns that do not depend on earlier ones, and `Basis.turn`.

        B (p, p + 1) is changed: dropped columns have no part in others, and a column that nearly
        depends on others is replaced by what they leave of it.
        """
        S = np.column_stack([(self.values[c] - means[c]) / sds[c] for c in range(self.p)])
        S[:, ~np.isfinite(noise)] = 0.0
        gram, kept, turn = S.T @ S, [], np.eye(self.p)
        for c in self.order:
            weights, is_new = np.zeros(len(kept)), np.isfinite(noise[c])
            left = gram[c, c] - self._explained_squares(gram, kept, c)
            if is_new and kept and left <= SUSPECT * gram[c, c]:
                # Twice, since the first residual has the rounding of the whole column.
                residual = S[:, c]
                for _ in range(2):
                    more = np.linalg.lstsq(S[:, kept], residual, rcond=None)[0]
                    weights, residual = weights + more, residual - S[:, kept] @ more
                size = float(np.sqrt(np.mean(residual**2)))
                is_new = size > max(DEPENDENT, noise[c])
                if is_new:
                    S[:, c] = residual / size
                    B[:, c] = (B[:, c] - B[:, kept] @ weights) / size
                    turn[:, c] = (turn[:, c] - turn[:, kept] @ weights) / size
                    gram = S.T @ S
            if is_new:
                kept.append(c)
                continue
            # The given column by the kept ones takes its place in the coefficients of others.
            by_kept = B[:, kept] @ weights - B[:, c]
            by_kept[c] += B[c, c]
            by_kept /= B[c, c]
            for other in range(self.p + 1):
                if other != c and B[c, other]:
                    share, B[c, other] = B[c, other], 0.0
                    B[:, other] += share * by_kept
        is_turned = not np.array_equal(turn, np.eye(self.p))
        return tuple(sorted(kept)), turn if is_turned else None

    @staticmethod
    def _explained_squares(gram: np.ndarray, kept: list[int], c: int) -> float:
        """Return the squares of a column that the kept ones explain."""
        if not kept:
            return 0.0
        right = gram[kept, c]
        return float(right @ np.linalg.solve(gram[np.ix_(kept, kept)], right))


def _in_span(columns: Sequence[np.ndarray], target: np.ndarray) -> np.ndarray | None:
    """Return the weights of columns (n,) whose sum is the target (n,), or None."""
    X = np.column_stack(columns)
    size = np.maximum(np.sqrt(np.mean(X**2, 0)), np.finfo(float).tiny)
    weights = np.linalg.lstsq(X / size, target, rcond=None)[0]
    away = np.abs(X / size @ weights - target).max()
    return weights / size if away <= IN_SPAN * max(np.abs(target).max(), 1e-300) else None
