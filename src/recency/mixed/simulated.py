"""Simulate responses from a fitted mixed model, and refit the model to each of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from recency.errors import InputError
from recency.mixed import families, lme4
from recency.mixed.deviance import nested_modes, solve
from recency.mixed.fit_formula import search_of
from recency.mixed.formula import INTERCEPT, column
from recency.mixed.levels import joined
from recency.mixed.lme4 import Refused
from recency.mixed.model_request import Prepared
from recency.mixed.scaled_search import ScaledSearch, SearchResult
from recency.mixed.search_summary import summary_of
from recency.mixed.several import SeveralProducts, solve_several
from recency.mixed.source import linear_predictor
from recency.mixed.summary import FitSummary
from recency.mixed.theta_search import search, search_several

if TYPE_CHECKING:
    from recency.mixed.model import MixedModel
    from recency.mixed.source import Source

STREAM = 48
"""Distinguishes these random numbers from others with the same seed."""


def simulate(fit: MixedModel, n: int, seed: int, new_effects: bool) -> pd.DataFrame:
    """Simulate responses; see recency.mixed.model.MixedModel.simulate."""
    source, family = fit._source, fit.family
    if n < 1:
        raise InputError(f"n is {n!r} and must be 1 or more")
    names = [f"sim_{number}" for number in range(1, n + 1)]
    index = fit.fitted.index
    if source.prepared is None:
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
        self.prepared, summary = source.prepared, source.result.summary
        n = len(self.prepared.y)
        rows = source.request.rows
        self._fixed = linear_predictor(source, rows, False, False)
        self._all = linear_predictor(source, rows, False, True)
        self._sd = np.full(n, summary.sigma)
        if self.prepared.weights is not None:
            self._sd = self._sd / np.sqrt(self.prepared.weights)
        self._groups = []
        for group, spread in summary.random.items():
            levels = joined(group, self.prepared.groups)
            sd = np.array(spread["sd"])
            S = np.nan_to_num(np.array(spread["correlation"], dtype=float)) * np.outer(sd, sd)
            values, vectors = np.linalg.eigh(S)
            root = vectors * np.sqrt(np.maximum(values, 0))
            Z = [column(c, self.prepared.columns, n) for c in spread["columns"]]
            self._groups.append((levels, np.column_stack(Z), root))

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
    searched, draw = search_of(source.prepared, source.shift), _Draws(source)
    again, random = _Refit(searched, source.prepared), _generator(seed)
    for _ in range(draws):
        z = draw(random, True)
        offset = source.prepared.offset
        yield summary_of(again.fit(z if offset is None else z - offset))[0]


class _Refit:
    """A model that is refitted to other responses by replacing only their cross-products."""

    def __init__(self, searched: ScaledSearch, prepared: Prepared) -> None:
        self.searched, self.weights = searched, prepared.weights
        result, n = searched.result, len(prepared.y)
        given = searched.in_original_units()
        kept = list(result.products.kept)
        names = [searched.formula.fixed[c] for c in kept]
        self._centred = INTERCEPT in searched.formula.fixed
        self._X = np.column_stack([column(c, prepared.columns, n) for c in names])
        self._B = searched.B[np.ix_(kept, kept)]
        self._factors = []
        for factor, A in zip(given.factors, searched.A, strict=False):
            levels = joined(factor.group, prepared.groups)
            Z = [column(c, prepared.columns, n) for c in factor.columns]
            self._factors.append((levels.codes, len(levels.names), Z, A))

    def fit(self, z: np.ndarray) -> ScaledSearch:
        """Fit a response (n,) by maximum likelihood."""
        mean = float(z.mean()) if self._centred else 0.0
        left = z - mean
        weighted = left if self.weights is None else self.weights * left
        old = self.searched.result
        ww = old.products.ww.copy()
        ww[:-1, -1] = ww[-1, :-1] = self._B.T @ (self._X.T @ weighted)
        ww[-1, -1] = left @ weighted
        zw = [
            np.stack([np.bincount(codes, column_ * weighted, levels) for column_ in Z], 1) @ A
            if Z
            else np.zeros((levels, 0))
            for codes, levels, Z, A in self._factors
        ]
        result = self._search(old, ww, zw, weighted)
        return replace(self.searched, result=result, mean=mean)

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
