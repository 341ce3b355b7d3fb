"""Simulate responses from a fitted mixed model, and refit the model to each of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from crosslmm import families, lme4
from crosslmm.deviance import nested_modes, solve
from crosslmm.errors import InputError
from crosslmm.fit_formula import search_of
from crosslmm.formula import INTERCEPT
from crosslmm.levels import joined
from crosslmm.lme4 import Refused
from crosslmm.scaled_search import Searched, SearchResult
from crosslmm.several import SeveralProducts, solve_several
from crosslmm.source import linear_predictor
from crosslmm.summary import FitSummary
from crosslmm.theta_search import search, search_several

if TYPE_CHECKING:
    from crosslmm.model import MixedModel
    from crosslmm.source import Source

STREAM = 48
"""Distinguishes these random numbers from others with the same seed."""


def simulate(fit: MixedModel, n: int, seed: int, new_effects: bool) -> pd.DataFrame:
    """Simulate responses; see crosslmm.model.MixedModel.simulate."""
    source, family = fit._source, fit.family
    if n < 1:
        raise InputError(f"n is {n!r} and must be 1 or more")
    names = [f"sim_{number}" for number in range(1, n + 1)]
    index = fit.fitted.index
    if source.prepared is None or family in families.GENERALISED:
        try:
            values = lme4.simulated(source.in_r, n, seed, new_effects)
        except Refused as reason:
            raise InputError(f"simulate() of {fit.formula!r}: lme4: {reason}") from None
    elif family in families.LINEAR:
        random, draw = _generator(seed), _Draws(source)
        values = np.column_stack([draw(random, new_effects) for _ in range(n)])
    else:
        raise InputError(f"simulate() supports linear models and lme4's, not family {family!r}")
    if family in (families.LOGNORMAL, families.SHIFTED):
        values = source.shift + np.exp(values)
    return pd.DataFrame(values, index, names)


def _generator(seed: int) -> np.random.Generator:
    """Return a stream other than the seed's own, which may have generated the data."""
    return np.random.default_rng([seed, STREAM])


class _Draws:
    """Draws of the response of a linear mixed model, on the scale of its linear predictor."""

    def __init__(self, source: Source) -> None:
        prepared, scale, figures = source.prepared, source.internal, source.result.figures
        n = len(prepared.y)
        rows = source.request.rows
        self._fixed = linear_predictor(source, rows, False, False)
        self._all = linear_predictor(source, rows, False, True)
        self._sd = np.full(n, source.result.summary.sigma)
        if prepared.weights is not None:
            self._sd = self._sd / np.sqrt(prepared.weights)
        self._groups = []
        for group, basis, L in zip(scale.groups, scale.random, figures.Ls, strict=True):
            Z = np.column_stack(basis.values(prepared.leaves, n))
            root = scale.factor * figures.sigma * L
            self._groups.append((joined(group, prepared.groups), Z, root))

    def __call__(self, random: np.random.Generator, new_effects: bool) -> np.ndarray:
        """Return a response (n,), including the offset."""
        z = (self._fixed if new_effects else self._all) + self._sd * random.normal(
            size=len(self._sd)
        )
        for levels, Z, root in self._groups if new_effects else ():
            effects = random.normal(size=(len(levels.names), len(root))) @ root.T
            z += (Z * effects[levels.codes]).sum(1)
        return z


def refits(source: Source, draws: int, seed: int) -> Iterator[FitSummary]:
    """Simulate responses, with new random effects, and yield the fit to each."""
    again, draw = _Refit(source), _Draws(source)
    random = _generator(seed)
    for _ in range(draws):
        z = draw(random, True)
        offset = source.prepared.offset
        yield again.fit(z if offset is None else z - offset).summary()


class _Refit:
    """A model that is refitted to other responses by replacing only their cross-products."""

    def __init__(self, source: Source) -> None:
        self.searched = search_of(source.prepared, source.shift)
        model = self.searched.model
        result = self.searched.result
        X = model.X()
        self._X = np.column_stack([X[c] for c in result.products.kept])
        by_factor: dict[str, list[np.ndarray]] = {}
        for group, Z in zip(model.scale.groups, model.Z(), strict=True):
            by_factor.setdefault(group.strip("`"), []).extend(Z)
        self._factors = []
        for factor in result.factors:
            levels = joined(factor.group, self.searched.groups)
            Z = by_factor.get(factor.group.strip("`"), [])
            self._factors.append((levels.codes, len(levels.names), Z))

    def fit(self, z: np.ndarray) -> Searched:
        """Fit a response (n,) by maximum likelihood."""
        model = self.searched.model
        scale = model.scale
        mean = float(z.mean()) if INTERCEPT in model.formula.fixed else scale.mean
        left = (z - mean) / scale.factor
        weighted = left if model.weights is None else model.weights * left
        old = self.searched.result
        ww = old.products.ww.copy()
        ww[:-1, -1] = ww[-1, :-1] = self._X.T @ weighted
        ww[-1, -1] = left @ weighted
        zw = [
            np.stack([np.bincount(codes, column_ * weighted, levels) for column_ in Z], 1)
            if Z
            else np.zeros((levels, 0))
            for codes, levels, Z in self._factors
        ]
        result = self._search(old, ww, zw, weighted)
        return Searched(
            replace(model, y=left, scale=replace(scale, mean=mean)), result, self.searched.groups
        )

    def _search(
        self, old: SearchResult, ww: np.ndarray, zw: list[np.ndarray], weighted: np.ndarray
    ) -> SearchResult:
        free = [factor.free for factor in old.factors]
        if isinstance(old.products, SeveralProducts):
            aw, rw = old.products.aw.copy(), old.products.rw.copy()
            aw[..., -1] = zw[0]
            rw[:, -1] = np.concatenate([part.ravel() for part in zw[1:]])
            products = replace(old.products, aw=aw, rw=rw, ww=ww)
            optimum = search_several(products, free)
            solution = solve_several(products, optimum.Ls[: len(free)])
            return replace(old, products=products, optimum=optimum, solution=solution)
        aw, bw, cells = old.products.aw.copy(), old.products.bw.copy(), old.products.cells
        aw[..., -1] = zw[0]
        if len(zw) > 1:
            bw[..., -1] = zw[1]
        if cells is not None:
            cells = cells.copy()
            cell = self._factors[0][0] * cells.shape[1] + self._factors[1][0]
            sums = np.bincount(cell, weighted, cells.shape[0] * cells.shape[1])
            cells[..., -1] = sums.reshape(cells.shape[:2])
        products = replace(old.products, aw=aw, bw=bw, ww=ww, cells=cells)
        free += [np.zeros((0, 0), dtype=bool)] * (2 - len(free))
        optimum = search(products, *free)
        solution = solve(products, optimum.La, optimum.Lb, optimum.t)
        of_pairs = nested_modes(products, solution, optimum.t) if old.nested else None
        return replace(
            old, products=products, optimum=optimum, solution=solution, of_pairs=of_pairs
        )
