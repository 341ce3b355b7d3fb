"""R's orthogonal polynomials, poly(x, degree), computed from fitted data and applied to any."""

from dataclasses import dataclass

import numpy as np

from crosslmm.errors import InputError


@dataclass(frozen=True)
class Basis:
    """The recurrence of monic orthogonal polynomials, as in R's attribute `coefs`.

    p[k+1](x) = (x - alpha[k]) p[k](x) - norm2[k+1] / norm2[k] p[k-1](x); norm2 starts with 1, then
    has the sum of squares of each polynomial from degree 0 on.
    """

    alpha: tuple[float, ...]
    norm2: tuple[float, ...]

    def values(self, x: np.ndarray) -> np.ndarray:
        """Return the polynomials from degree 1 at `x` (n,): (n, degree), of unit length."""
        before, now, columns = np.zeros(len(x)), np.ones(len(x)), []
        for k, alpha in enumerate(self.alpha):
            before, now = now, (x - alpha) * now - self.norm2[k + 1] / self.norm2[k] * before
            columns.append(now / np.sqrt(self.norm2[k + 2]))
        return np.column_stack(columns)


def basis_of(x: np.ndarray, degree: int, name: str, counts: np.ndarray | None = None) -> Basis:
    """Return the basis of values `x` (m,), which occur once each or `counts` (m,) times.

    `name` is the term in the InputError for too few distinct values.
    """
    x, weights = np.asarray(x, np.float64), np.ones(len(x)) if counts is None else counts
    distinct = len(np.unique(x))
    if distinct <= degree:
        raise InputError(
            f"{name}: its {distinct} different values have polynomials up to degree {distinct - 1}"
        )
    alpha: list[float] = []
    norm2 = [1.0, float(weights.sum())]
    before, now = np.zeros(len(x)), np.ones(len(x))
    for k in range(degree):
        # Relative to the last centre, so that a mean far from 0 costs no digits.
        centre = float(np.average(x, weights=weights))
        alpha.append(centre + float((weights * (x - centre) * now**2).sum()) / norm2[-1])
        before, now = now, (x - alpha[k]) * now - norm2[k + 1] / norm2[k] * before
        norm2.append(float((weights * now**2).sum()))
    return Basis(tuple(alpha), tuple(norm2))
