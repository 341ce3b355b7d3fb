"""Nested random intercepts, and cross-products of a part of a model."""

import numpy as np
import pytest

from crosslmm.cross_products import Block, cross_products, select_columns
from crosslmm.deviance import solve
from crosslmm.factors import NotSearchable, crossed_factors
from crosslmm.fitting import fit_model
from crosslmm.formula import parse
from crosslmm.scaled_search import products_of
from test_mixed_model import CORRELATED, simulate

NESTED = CORRELATED + " + (1 | sentence:subject)"


def nested_data(seed=2, sd=30.0, **options):
    """Return simulated data with an effect of each pair of sentence and subject."""
    predictors, y, groups = simulate(seed, **options)
    cell = groups["subject"].codes * 1000 + groups["sentence"].codes
    names, codes = np.unique(cell, return_inverse=True)
    return predictors, y + np.random.default_rng(seed).normal(0, sd, len(names))[codes], groups


def test_nested_deviance_is_that_of_the_dense_model():
    predictors, y, groups = nested_data(1, subjects=6, sentences=5, words=4, keep=0.7)
    a, b = groups["subject"].codes, groups["sentence"].codes
    X = np.column_stack([np.ones(len(y)), *predictors.values()])
    Za, Zb = X[:, :3], X[:, [0, 2]]
    rows = [slice(0, 31), slice(31, None)]
    blocks = [Block(X[r], y[r], a[r], Za[r], b[r], Zb[r]) for r in rows]
    products = cross_products(blocks, 6, 5, nested=True)
    random = np.random.default_rng(0)
    La, Lb, t = np.tril(random.normal(size=(3, 3))), np.tril(random.normal(size=(2, 2))), 0.7
    same_a, same_b = a[:, None] == a, b[:, None] == b
    V = np.eye(len(y)) + same_a * (Za @ La @ La.T @ Za.T) + same_b * (Zb @ Lb @ Lb.T @ Zb.T)
    V += t**2 * (same_a & same_b)
    inverse = np.linalg.inv(V)
    beta = np.linalg.solve(X.T @ inverse @ X, X.T @ inverse @ y)
    e = y - X @ beta
    r2 = e @ inverse @ e
    at = solve(products, La, Lb, t)
    n = len(y)
    assert at.deviance == pytest.approx(
        np.linalg.slogdet(V)[1] + n * (1 + np.log(2 * np.pi * r2 / n)), rel=1e-11
    )
    assert at.beta == pytest.approx(beta) and at.sigma == pytest.approx(np.sqrt(r2 / n))
    modes = np.array([La @ La.T @ Za[a == g].T @ (inverse @ e)[a == g] for g in range(6)])
    assert at.modes_a == pytest.approx(modes)
    assert at.by_t == pytest.approx(
        (solve(products, La, Lb, t + 1e-5).deviance - solve(products, La, Lb, t - 1e-5).deviance)
        / 2e-5,
        rel=1e-6,
    )
    for L, gradient in ((La, at.by_La), (Lb, at.by_Lb)):
        for element in zip(*np.tril_indices(len(L)), strict=True):
            start, around = L[element], []
            for step in (1e-5, -1e-5):
                L[element] = start + step
                around.append(solve(products, La, Lb, t).deviance)
            L[element] = start
            assert gradient[element] == pytest.approx(
                (around[0] - around[1]) / 2e-5, rel=1e-5, abs=1e-4
            )


@pytest.mark.parametrize(
    "formula,sd",
    [
        (NESTED, 30.0),
        (NESTED, 0.0),
        ("time_ms ~ length + (1 + length | subject) + (1 | sentence:subject)", 30.0),
    ],
)
def test_nested_terms_are_searched(formula, sd):
    predictors, y, groups = nested_data(sd=sd)
    result = fit_model(parse(formula), predictors, y, groups, "cross_products")
    assert result.optimum is not None and result.converged, result.note
    lme4s = fit_model(parse(formula), predictors, y, groups, "lme4").summary
    assert result.summary.loglik > lme4s.loglik - 1e-4
    if sd:
        assert result.summary.random["sentence:subject"]["sd"][0] == pytest.approx(sd, rel=0.3)


def test_nested_terms_with_slopes_are_confirmed_by_lme4():
    predictors, y, groups = simulate(2)
    formula = parse(
        "time_ms ~ length + (1 | subject) + (1 | sentence) + (1 + length | sentence:subject)"
    )
    result = fit_model(formula, predictors, y, groups, "cross_products")
    assert result.optimum is not None and result.difference < 1e-6
    with pytest.raises(NotSearchable):
        crossed_factors(formula)


@pytest.mark.parametrize("nested", ["", " + (1 | sentence:subject)"])
def test_products_of_fewer_columns_are_those_of_a_smaller_model(nested):
    predictors, y, groups = simulate(1)
    of_subjects, fixed = "(1 + length + position | subject)", "time_ms ~ length + "
    large = parse(f"{fixed}{of_subjects} + (1 + length + position | sentence){nested}")
    small = parse(f"{fixed}(1 + position | subject) + (1 + position | sentence){nested}")
    chosen = select_columns(
        products_of(large, crossed_factors(large), predictors, y, groups), [0, 2], [0, 2]
    )
    alone = products_of(small, crossed_factors(small), predictors, y, groups)
    for name in ("aa", "bb", "ab", "aw", "bw", "ww", *(["cells"] if nested else [])):
        assert getattr(chosen, name) == pytest.approx(getattr(alone, name)), name
